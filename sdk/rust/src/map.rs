//! Functions of single records: filters, maps and flat-maps.

use crate::answer::Answer;
use crate::column::{Columns, Record};
use crate::frame::{Frame, Status};
use crate::list::{Block, Bound};
use crate::manifest::Manifest;
use crate::output::{Row, Rows};
use crate::param::Params;
use crate::plugin::{Op, Plugin};
use crate::refusal::Refusal;
use crate::value::Timestamp;
use std::marker::PhantomData;

/// A function that is shown records one by one and makes records of each: none, so that it
/// is a filter, one, or several. All of them have the record's time. It keeps nothing: what
/// it does for a record follows from that record alone.
///
/// ```
/// use tidemark::{Map, Mapped, Refusal};
///
/// tidemark::record! { struct Order<'a> { user: &'a str, amount: f64 } }
/// tidemark::row! { struct Cents<'a> { user: &'a str, cents: i64 } }
///
/// struct ToCents;
///
/// impl Map for ToCents {
///     const NAME: &'static str = "to_cents";
///     const VERSION: &'static str = "1.0.0";
///     type Record = Order<'static>;
///     type Row = Cents<'static>;
///     type Params = ();
///
///     fn map(m: &Mapped<Self>, _: &()) -> Result<(), Refusal> {
///         m.emit(Cents { user: m.record.user, cents: (m.record.amount * 100.0).round() as i64 });
///         Ok(())
///     }
/// }
///
/// tidemark::plugin!(ToCents: Map);
/// ```
pub trait Map: Sized {
    /// `[a-z][a-z0-9_-]{0,62}`
    const NAME: &'static str;
    /// Free text of at most 64 bytes.
    const VERSION: &'static str;

    /// Columns of the record: from `record!`, or `()`.
    type Record: for<'a> Record<'a>;
    /// From `row!`: fields of the records that come of it, beside those that it has; of one
    /// with the same name the new one stands.
    type Row: for<'a> Rows<'a>;
    /// From `params!`, or `()`.
    type Params: Params;

    /// Checks the arguments, once on each instance, before anything else.
    fn configure(_: &Self::Params) -> Result<(), Refusal> {
        Ok(())
    }

    /// Is shown a record. An Err refuses it.
    fn map(m: &Mapped<'_, Self>, p: &Self::Params) -> Result<(), Refusal>;
}

/// What a function of single records is shown.
pub struct Mapped<'a, M: Map> {
    /// The record's event time; None: it has none.
    pub time: Option<Timestamp>,
    pub record: <M::Record as Record<'a>>::Of,
    answer: &'a Answer,
}

impl<'a, M: Map> Mapped<'a, M> {
    /// Gives a record.
    pub fn emit<'r>(&self, row: <M::Row as Rows<'r>>::Of) {
        self.answer.row(row)
    }
}

/// The plug-in that a function of single records makes.
#[doc(hidden)]
pub struct MapOf<M>(PhantomData<M>);

impl<M: Map> Plugin for MapOf<M> {
    type Params = M::Params;

    fn configure(p: &M::Params) -> Result<(), Refusal> {
        M::configure(p)
    }

    fn serve(op: Op, f: Frame, _: &mut Columns<'static>, p: &M::Params) -> Option<Status> {
        let block = Block::of(&f)?;
        let records = Bound::<M::Record>::open(&f, &block.lists[0])?;
        if op != Op::Map || records.rows() != f.header().rows {
            return None;
        }
        let answer = Answer::new(f);
        answer.to_each(|i| {
            let r = records.at(i as u32)?;
            Some(M::map(&Mapped { time: r.time, record: r.record, answer: &answer }, p))
        })
    }

    fn manifest() -> Result<String, String> {
        Manifest::new("map", M::NAME, M::VERSION)
            .inputs("inputs", <M::Record as Record<'_>>::FIELDS)
            .outputs("outputs", <<M::Row as Rows<'_>>::Of as Row>::FIELDS)
            .params(&M::Params::declared())
            .done()
    }
}
