//! Aggregates: what an author writes, and the dispatch of a call.

use crate::apply::{self, Agenda};
use crate::column::{Columns, Record};
use crate::frame::{Frame, Status};
use crate::manifest::Manifest;
use crate::output::{Outputs, Row};
use crate::param::Params;
use crate::plugin::{Op, Plugin};
use crate::refusal::Refusal;
use crate::upgrade::{self, Upgrade};
use std::marker::PhantomData;

/// An aggregate, written for the type of its accumulator, one for each key and window.
///
/// The laws: merging with a fresh accumulator changes nothing; merging the accumulators
/// of two parts equals adding both parts to one, bit for bit if EXACT.
pub trait Aggregate: Sized + Default {
    /// `[a-z][a-z0-9_-]{0,62}`
    const NAME: &'static str;
    /// Free text of at most 64 bytes.
    const VERSION: &'static str;
    /// Version of what the host keeps, to be raised when its layout changes.
    const SCHEMA: u32 = 1;
    /// The older layouts that it converts from.
    const UPGRADES: &'static [Upgrade] = &[];
    /// The result does not depend on the order of records and merges. Hosts need it to
    /// share work between overlapping windows.
    const ORDER_INSENSITIVE: bool = false;
    /// Merging in any shape gives the same bits as one pass. Sums of floating-point
    /// numbers are not exact.
    const EXACT: bool = false;

    /// From `record!`, or `()`.
    type Record: for<'a> Record<'a>;
    /// From `row!`.
    type Row: Row;
    /// From `params!`, or `()`.
    type Params: Params;
    /// [`Fixed`](crate::Fixed) for a struct of `plain!`, [`Varying`](crate::Varying) for
    /// one that implements [`Encode`](crate::Encode).
    type Kept: Kept<Self>;

    /// Checks the arguments, once on each instance, before anything else.
    fn configure(_: &Self::Params) -> Result<(), Refusal> {
        Ok(())
    }

    /// Makes an accumulator of no records.
    fn fresh(_: &Self::Params) -> Self {
        Self::default()
    }

    /// Folds a record into the accumulator.
    fn add(&mut self, r: <Self::Record as Record<'_>>::Of, p: &Self::Params) -> Result<(), Refusal>;

    /// Folds the records behind from, which came later, into the accumulator.
    fn merge(&mut self, from: Self, p: &Self::Params) -> Result<(), Refusal>;

    /// Gives the row of output columns.
    fn result(&self, p: &Self::Params) -> Result<Self::Row, Refusal>;
}

/// How a host keeps accumulators: the calls of section 4 that differ.
pub trait Kept<A: Aggregate> {
    #[doc(hidden)]
    const WIDTH: usize;
    #[doc(hidden)]
    fn create(i: &Call<'_, A>) -> Option<Status>;
    #[doc(hidden)]
    fn add(i: &Call<'_, A>) -> Option<Status>;
    #[doc(hidden)]
    fn merge(i: &Call<'_, A>) -> Option<Status>;
    #[doc(hidden)]
    fn result(i: &Call<'_, A>, row: &mut Answers<'_, A>) -> Option<Status>;
    /// Carries out the operations of an agenda; only accumulators of a fixed size can.
    #[doc(hidden)]
    fn apply(i: &Call<'_, A>, agenda: &Agenda<'_>, row: &mut Answers<'_, A>) -> Option<Status>;
}

/// Takes what an operation, by its number, has answered for a row of the output columns;
/// Some: the call ends here.
pub(crate) type Answers<'a, A> = dyn FnMut(usize, usize, Result<<A as Aggregate>::Row, Refusal>) -> Option<Status> + 'a;

/// One call: the frame with the input columns bound to it. What serves it answers None
/// for a frame that cannot be read.
#[doc(hidden)]
pub struct Call<'a, A: Aggregate> {
    pub(crate) frame: Frame,
    pub(crate) columns: &'a Columns<'a>,
    pub(crate) params: &'a A::Params,
}

/// The plug-in that an aggregate makes.
#[doc(hidden)]
pub struct AggregateOf<A>(PhantomData<A>);

impl<A: Aggregate> Plugin for AggregateOf<A> {
    type Params = A::Params;

    fn configure(p: &A::Params) -> Result<(), Refusal> {
        A::configure(p)
    }

    fn serve(op: Op, f: Frame, columns: &mut Columns<'static>, params: &A::Params) -> Option<Status> {
        if op == Op::Apply {
            return apply::serve::<A>(f, columns, params);
        }
        if op == Op::Upgrade {
            return upgrade::serve(f, A::UPGRADES, A::Kept::WIDTH);
        }
        if op == Op::Add && !columns.bind_inputs(&f, A::Record::FIELDS.iter().map(|f| f.kind)) {
            return None;
        }
        let call = Call { frame: f, columns, params };
        match op {
            Op::Create => A::Kept::create(&call),
            Op::Add => A::Kept::add(&call),
            Op::Merge => A::Kept::merge(&call),
            Op::Result => {
                let mut out = Outputs::bind(f, A::Row::FIELDS, f.header().groups as usize)?;
                A::Kept::result(&call, &mut |op, row, answer| out.answer(op, row, answer))
            }
            _ => None,
        }
    }

    fn manifest() -> Result<String, String> {
        Manifest::new("aggregate", A::NAME, A::VERSION)
            .inputs("inputs", <A::Record as Record<'_>>::FIELDS)
            .outputs("outputs", A::Row::FIELDS)
            .params(&A::Params::declared())
            .accumulator(A::Kept::WIDTH, A::SCHEMA, A::UPGRADES)
            .flag("order_insensitive", A::ORDER_INSENSITIVE)
            .flag("exact", A::EXACT)
            .apply(A::Kept::WIDTH > 0)
            .done()
    }
}
