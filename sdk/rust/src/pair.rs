//! Pair functions: what makes the rows of a join.

use crate::answer::Answer;
use crate::column::{Columns, Record};
use crate::frame::{Frame, Status};
use crate::list::{Block, Bound, Timed};
use crate::manifest::Manifest;
use crate::output::{Row, Rows};
use crate::param::Params;
use crate::plugin::{Op, Plugin};
use crate::refusal::Refusal;
use crate::value::Timestamp;
use std::marker::PhantomData;

/// A function that is shown pairs of records, which a join has brought together, and gives
/// any number of rows for each. It keeps nothing: what it does for a pair follows from that
/// pair alone.
///
/// ```
/// use tidemark::{Pair, Paired, Refusal};
///
/// tidemark::record! { struct Bid { bid: f64 } }
/// tidemark::record! { struct Ask { ask: f64 } }
/// tidemark::row! { struct Spread { spread: f64 } }
///
/// struct Spreads;
///
/// impl Pair for Spreads {
///     const NAME: &'static str = "spreads";
///     const VERSION: &'static str = "1.0.0";
///     type Left = Bid;
///     type Right = Ask;
///     type Row = Spread;
///     type Params = ();
///
///     fn pair(p: &Paired<Self>, _: &()) -> Result<(), Refusal> {
///         p.emit(Spread { spread: p.right.record.ask - p.left.record.bid });
///         Ok(())
///     }
/// }
///
/// tidemark::plugin!(Spreads: Pair);
/// ```
pub trait Pair: Sized {
    /// `[a-z][a-z0-9_-]{0,62}`
    const NAME: &'static str;
    /// Free text of at most 64 bytes.
    const VERSION: &'static str;

    /// Columns of the left record: from `record!`, or `()`.
    type Left: for<'a> Record<'a>;
    /// Columns of the right record.
    type Right: for<'a> Record<'a>;
    /// From `row!`.
    type Row: for<'a> Rows<'a>;
    /// From `params!`, or `()`.
    type Params: Params;

    /// Checks the arguments, once on each instance, before anything else.
    fn configure(_: &Self::Params) -> Result<(), Refusal> {
        Ok(())
    }

    /// Is shown a pair. An Err refuses it.
    fn pair(pair: &Paired<'_, Self>, p: &Self::Params) -> Result<(), Refusal>;
}

/// What a pair function is shown: a record of either side.
pub struct Paired<'a, P: Pair> {
    pub left: Timed<<P::Left as Record<'a>>::Of>,
    pub right: Timed<<P::Right as Record<'a>>::Of>,
    /// The time of the rows: the later one of the two in an interval join, the last
    /// millisecond of the window in a window join.
    pub time: Timestamp,
    answer: &'a Answer,
}

impl<'a, P: Pair> Paired<'a, P> {
    /// Gives a row.
    pub fn emit<'r>(&self, row: <P::Row as Rows<'r>>::Of) {
        self.answer.row(row)
    }
}

/// A pair as it lies in memory (abi/SPEC.md, section 3).
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct PairData {
    pub left: u32,
    pub right: u32,
    pub time: i64,
}

/// The plug-in that a pair function makes.
#[doc(hidden)]
pub struct PairOf<P>(PhantomData<P>);

impl<P: Pair> Plugin for PairOf<P> {
    type Params = P::Params;

    fn configure(p: &P::Params) -> Result<(), Refusal> {
        P::configure(p)
    }

    fn serve(op: Op, f: Frame, _: &mut Columns<'static>, p: &P::Params) -> Option<Status> {
        let block = Block::of(&f)?;
        let pairs = f.slice::<PairData>(block.items, f.header().rows as usize)?;
        let lefts = Bound::<P::Left>::open(&f, &block.lists[0])?;
        let rights = Bound::<P::Right>::open(&f, &block.lists[1])?;
        if op != Op::Pair {
            return None;
        }
        let answer = Answer::new(f);
        answer.to_each(|i| {
            let d = pairs[i];
            let pair = Paired { left: lefts.at(d.left)?, right: rights.at(d.right)?, time: Timestamp(d.time), answer: &answer };
            Some(P::pair(&pair, p))
        })
    }

    fn manifest() -> Result<String, String> {
        Manifest::new("pair", P::NAME, P::VERSION)
            .inputs("left", <P::Left as Record<'_>>::FIELDS)
            .inputs("right", <P::Right as Record<'_>>::FIELDS)
            .outputs("outputs", <<P::Row as Rows<'_>>::Of as Row>::FIELDS)
            .params(&P::Params::declared())
            .done()
    }
}
