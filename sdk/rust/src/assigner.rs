//! Window assigners: what says which windows a record belongs to.

use crate::answer::Answer;
use crate::column::{Columns, Record};
use crate::frame::{Frame, Status};
use crate::list::{Block, Bound};
use crate::manifest::Manifest;
use crate::param::Params;
use crate::plugin::{Op, Plugin};
use crate::refusal::Refusal;
use crate::value::Timestamp;
use std::marker::PhantomData;

/// A function that is shown records one by one and says which windows each belongs to:
/// none, one, or at most 1,000. It keeps nothing: what it says of a record follows from that
/// record alone.
///
/// ```
/// use tidemark::{Assigned, Assigner, Refusal, Timestamp};
///
/// tidemark::params! { struct Params { size_ms: i64 = 60_000 } }
///
/// struct Tumbling;
///
/// impl Assigner for Tumbling {
///     const NAME: &'static str = "tumbling";
///     const VERSION: &'static str = "1.0.0";
///     type Record = ();
///     type Params = Params;
///
///     fn assign(r: &Assigned<Self>, p: &Params) -> Result<(), Refusal> {
///         let start = r.time.0 - r.time.0.rem_euclid(p.size_ms);
///         r.window(Timestamp(start), Timestamp(start + p.size_ms));
///         Ok(())
///     }
/// }
///
/// tidemark::plugin!(Tumbling: Assigner);
/// ```
pub trait Assigner: Sized {
    /// `[a-z][a-z0-9_-]{0,62}`
    const NAME: &'static str;
    /// Free text of at most 64 bytes.
    const VERSION: &'static str;
    /// Windows of a key that overlap or touch become one, as sessions do; a record is then
    /// in one window at most.
    const MERGES: bool = false;

    /// Columns of the records, beside their times: from `record!`, or `()`.
    type Record: for<'a> Record<'a>;
    /// From `params!`, or `()`.
    type Params: Params;

    /// Checks the arguments, once on each instance, before anything else.
    fn configure(_: &Self::Params) -> Result<(), Refusal> {
        Ok(())
    }

    /// Is shown a record. An Err refuses it.
    fn assign(r: &Assigned<'_, Self>, p: &Self::Params) -> Result<(), Refusal>;
}

/// What a window assigner is shown.
pub struct Assigned<'a, A: Assigner> {
    /// The record's event time.
    pub time: Timestamp,
    pub record: <A::Record as Record<'a>>::Of,
    answer: &'a Answer,
}

impl<'a, A: Assigner> Assigned<'a, A> {
    /// Puts the record into the window that holds times from start up to, not including,
    /// end. A window that is named twice counts once; one that does not end behind its start
    /// is a mistake of the assigner's.
    pub fn window(&self, start: Timestamp, end: Timestamp) {
        self.answer.words(WINDOW, [start.0 as u64, end.0 as u64])
    }
}

/// What an entry of the answer is.
const WINDOW: u32 = 0;

/// The plug-in that a window assigner makes.
#[doc(hidden)]
pub struct AssignerOf<A>(PhantomData<A>);

impl<A: Assigner> Plugin for AssignerOf<A> {
    type Params = A::Params;

    fn configure(p: &A::Params) -> Result<(), Refusal> {
        A::configure(p)
    }

    fn serve(op: Op, f: Frame, _: &mut Columns<'static>, p: &A::Params) -> Option<Status> {
        let block = Block::of(&f)?;
        let records = Bound::<A::Record>::open(&f, &block.lists[0])?;
        if op != Op::Assign || records.rows() != f.header().rows {
            return None;
        }
        let answer = Answer::new(f);
        answer.to_each(|i| {
            let r = records.at(i as u32)?;
            Some(A::assign(&Assigned { time: r.time?, record: r.record, answer: &answer }, p))
        })
    }

    fn manifest() -> Result<String, String> {
        Manifest::new("assigner", A::NAME, A::VERSION)
            .inputs("inputs", <A::Record as Record<'_>>::FIELDS)
            .params(&A::Params::declared())
            .flag("merges", A::MERGES)
            .done()
    }
}
