//! What an author writes, and the dispatch of a call.

use crate::column::{Columns, Record};
use crate::frame::{Frame, Status};
use crate::output::{Outputs, Row, Wrote};
use crate::param::Params;
use std::borrow::Cow;
use std::fmt;

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

/// The text of a refusal, for people; the host shows at most 4,096 bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(Cow<'static, str>);

impl Refusal {
    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}

impl From<&'static str> for Refusal {
    fn from(text: &'static str) -> Refusal {
        Refusal(text.into())
    }
}

impl From<String> for Refusal {
    fn from(text: String) -> Refusal {
        Refusal(text.into())
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refusal {}

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
    fn result(i: &Call<'_, A>, row: &mut dyn FnMut(usize, Result<A::Row, Refusal>) -> Option<Status>) -> Option<Status>;
}

/// The calls that carry a frame.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    Configure,
    Create,
    Add,
    Merge,
    Result,
}

/// One call: the frame with the input columns bound to it. What serves it answers None
/// for a frame that cannot be read.
#[doc(hidden)]
pub struct Call<'a, A: Aggregate> {
    pub(crate) frame: Frame,
    pub(crate) columns: &'a Columns<'a>,
    pub(crate) params: &'a A::Params,
}

/// What stays between two calls: the arguments, and memory that is worth using again.
#[doc(hidden)]
pub struct Instance<A: Aggregate> {
    params: Option<A::Params>,
    columns: Columns<'static>,
}

impl<A: Aggregate> Instance<A> {
    pub(crate) const fn new() -> Instance<A> {
        Instance { params: None, columns: Columns(Vec::new()) }
    }

    /// Serves a call on the frame at an offset into the arena.
    ///
    /// # Safety
    /// As for Frame::open.
    pub(crate) unsafe fn call(&mut self, op: Op, arena: *mut u8, at: usize) -> Status {
        match Frame::open(arena, at) {
            Some(f) if op == Op::Configure => self.configure(f),
            Some(f) => self.serve(op, f),
            None => None,
        }
        .unwrap_or(Status::BadFrame)
    }

    fn configure(&mut self, f: Frame) -> Option<Status> {
        let declared = A::Params::declared();
        if f.header().rows != 1 || !self.columns.bind(&f, declared.iter().map(|d| d.kind)) {
            return None;
        }
        // The columns are those that are declared, and of one row.
        let params = unsafe { A::Params::read(&self.columns) }?;
        if let Err(e) = A::configure(&params) {
            return Some(f.refuse(e.text()));
        }
        self.params = Some(params);
        Some(Status::Ok)
    }

    fn serve(&mut self, op: Op, f: Frame) -> Option<Status> {
        let params = self.params.as_ref()?;
        let columns = &mut self.columns;
        if op == Op::Add && !columns.bind(&f, A::Record::FIELDS.iter().map(|f| f.kind)) {
            return None;
        }
        let call = Call { frame: f, columns, params };
        match op {
            Op::Configure => None,
            Op::Create => A::Kept::create(&call),
            Op::Add => A::Kept::add(&call),
            Op::Merge => A::Kept::merge(&call),
            Op::Result => {
                let mut out = Outputs::bind(f, A::Row::FIELDS)?;
                A::Kept::result(&call, &mut |i, row| {
                    Some(match row {
                        Err(e) => f.refuse(e.text()),
                        Ok(row) => match out.write(i, row) {
                            Wrote::All => return None,
                            Wrote::Full => f.full(i),
                            Wrote::TooLong => f.refuse("the texts of a result row are longer than 1 MiB"),
                        },
                    })
                })
            }
        }
    }
}
