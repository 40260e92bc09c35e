//! The twin of window assigners.

use crate::assigner::{Assigner, AssignerOf};
use crate::column::Record;
use crate::list::{rows, Block, Timed};
use crate::plugin::Op;
use crate::twin::items::{laws, show, Items};
use crate::twin::writer::Writer;
use crate::twin::{arguments, Call, Refused};
use crate::value::{Timestamp, Value};
use std::marker::PhantomData;
use std::ops::Range;

/// Drives a window assigner in tests as a host does. Each call is one on a fresh instance.
pub struct AssignerTwin<A: Assigner> {
    args: Vec<Value>,
    assigner: PhantomData<fn(A)>,
}

impl<A: Assigner> AssignerTwin<A> {
    /// Configures the assigner with a job's arguments, by the parameters' names. Panics
    /// where the declaration is wrong or the arguments do not fit it.
    pub fn new(args: &[(&str, Value)]) -> Result<AssignerTwin<A>, Refused> {
        let args = arguments::<AssignerOf<A>>(args);
        Call::<AssignerOf<A>>::new(&args)?;
        Ok(AssignerTwin { args, assigner: PhantomData })
    }

    /// Shows the assigner records, all of which have times, in one call, and gives the
    /// windows of each as it named them, from start up to, not including, end. After a
    /// refusal there is nothing.
    #[allow(clippy::type_complexity)]
    pub fn show<'a>(&self, records: &[Timed<<A::Record as Record<'a>>::Of>]) -> Result<Vec<Vec<(Timestamp, Timestamp)>>, Refused> {
        let mut windows: Vec<Vec<_>> = records.iter().map(|_| Vec::new()).collect();
        for e in show(&Shown::<A>::new(records), &self.args, &mut (), 0..records.len(), None)? {
            let ms = |at: usize| Timestamp(i64::from_le_bytes(e.body[at..at + 8].try_into().expect("8 bytes")));
            windows[e.item].push((ms(0), ms(8)));
        }
        Ok(windows)
    }

    /// Checks that the windows of records do not depend on where a host cuts them into
    /// calls, and that they are windows. The error says what does not hold.
    pub fn laws<'a>(&self, records: &[Timed<<A::Record as Record<'a>>::Of>]) -> Result<(), String> {
        laws(&Shown::<A>::new(records), &self.args, &())?;
        for (i, windows) in self.show(records).map_err(|e| e.message)?.iter_mut().enumerate() {
            windows.sort_unstable();
            windows.dedup();
            if let Some((start, end)) = windows.iter().find(|(start, end)| start >= end) {
                return Err(format!("record {}: the window from {} ends at {}", i, start.0, end.0));
            }
            let most = if A::MERGES { 1 } else { 1000 };
            if windows.len() > most {
                return Err(format!("record {}: it is in {} windows, at most {} are allowed", i, windows.len(), most));
            }
        }
        Ok(())
    }
}

struct Shown<A> {
    rows: Vec<Vec<Value>>,
    assigner: PhantomData<A>,
}

impl<A: Assigner> Shown<A> {
    fn new<'a>(records: &[Timed<<A::Record as Record<'a>>::Of>]) -> Shown<A> {
        assert!(records.iter().all(|r| r.time.is_some()), "a host shows a window assigner no record without a time");
        Shown { rows: rows::<A::Record>(records.to_vec()), assigner: PhantomData }
    }
}

impl<A: Assigner> Items for Shown<A> {
    type Plugin = AssignerOf<A>;
    type Kept = ();

    fn op(&self) -> Op {
        Op::Assign
    }

    fn count(&self) -> usize {
        self.rows.len()
    }

    fn lay(&self, w: &mut Writer, of: Range<usize>, _: &()) -> Block {
        let mut b = Block::default();
        b.lists[0] = w.list(<A::Record as Record<'_>>::FIELDS, &self.rows[of]);
        b
    }
}
