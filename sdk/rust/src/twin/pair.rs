//! The twin of pair functions.

use crate::column::Record;
use crate::list::{rows, Block, Timed};
use crate::output::Rows;
use crate::pair::{Pair, PairData, PairOf};
use crate::plugin::Op;
use crate::twin::items::{laws, row_of, show, Items};
use crate::twin::writer::Writer;
use crate::twin::{arguments, Call, Refused};
use crate::value::Value;
use std::marker::PhantomData;
use std::ops::Range;

/// Drives a pair function in tests as a host does. Each call is one on a fresh instance.
pub struct PairTwin<P: Pair> {
    args: Vec<Value>,
    pair: PhantomData<fn(P)>,
}

impl<P: Pair> PairTwin<P> {
    /// Configures the function with a job's arguments, by the parameters' names. Panics
    /// where the declaration is wrong or the arguments do not fit it.
    pub fn new(args: &[(&str, Value)]) -> Result<PairTwin<P>, Refused> {
        let args = arguments::<PairOf<P>>(args);
        Call::<PairOf<P>>::new(&args)?;
        Ok(PairTwin { args, pair: PhantomData })
    }

    /// Shows the function every pair of the records, left one by left one, as a window join
    /// does, in one call, and gives its rows. The time of a pair is the later one of the
    /// two. After a refusal there are no rows.
    #[allow(clippy::type_complexity)]
    pub fn show<'a>(
        &self,
        left: &[Timed<<P::Left as Record<'a>>::Of>],
        right: &[Timed<<P::Right as Record<'a>>::Of>],
    ) -> Result<Vec<<P::Row as Rows<'static>>::Of>, Refused> {
        let shown = Shown::<P>::new(left, right);
        let entries = show(&shown, &self.args, &mut (), 0..shown.count(), None)?;
        Ok(entries.iter().map(|e| row_of(&e.body)).collect())
    }

    /// Checks that what is given for pairs does not depend on where a host cuts them into
    /// calls. The error says what does not hold.
    pub fn laws<'a>(
        &self,
        left: &[Timed<<P::Left as Record<'a>>::Of>],
        right: &[Timed<<P::Right as Record<'a>>::Of>],
    ) -> Result<(), String> {
        laws(&Shown::<P>::new(left, right), &self.args, &())
    }
}

struct Shown<P> {
    left: Vec<Vec<Value>>,
    right: Vec<Vec<Value>>,
    pairs: Vec<PairData>,
    pair: PhantomData<P>,
}

impl<P: Pair> Shown<P> {
    fn new<'a>(left: &[Timed<<P::Left as Record<'a>>::Of>], right: &[Timed<<P::Right as Record<'a>>::Of>]) -> Shown<P> {
        let mut pairs = Vec::new();
        for (i, l) in left.iter().enumerate() {
            for (k, r) in right.iter().enumerate() {
                let time = l.time.max(r.time).map_or(i64::MIN, |t| t.0);
                pairs.push(PairData { left: i as u32, right: k as u32, time });
            }
        }
        Shown { left: rows::<P::Left>(left.to_vec()), right: rows::<P::Right>(right.to_vec()), pairs, pair: PhantomData }
    }
}

impl<P: Pair> Items for Shown<P> {
    type Plugin = PairOf<P>;
    type Kept = ();

    fn op(&self) -> Op {
        Op::Pair
    }

    fn count(&self) -> usize {
        self.pairs.len()
    }

    fn lay(&self, w: &mut Writer, of: Range<usize>, _: &()) -> Block {
        let mut b = Block { items: w.plain(&self.pairs[of]), ..Block::default() };
        b.lists[0] = w.list(<P::Left as Record<'_>>::FIELDS, &self.left);
        b.lists[1] = w.list(<P::Right as Record<'_>>::FIELDS, &self.right);
        b
    }
}
