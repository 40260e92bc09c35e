//! The twin of triggers.

use crate::answer::KEY_STATE;
use crate::column::Record;
use crate::list::{rows, Block, Timed};
use crate::plugin::Op;
use crate::state::State;
use crate::trigger::{
    Domain, Operation, Trigger, TriggerOf, Verdict, CLEAR, DELETE, ELEMENT, ENDING, EVENT_TIMER, MERGE, PROCESSING_TIMER, SET, VERDICT,
};
use crate::twin::items::{laws, show, Entry, Items};
use crate::twin::writer::Writer;
use crate::twin::{arguments, Call, Refused};
use crate::value::{Timestamp, Value};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::ops::Range;

/// Drives a trigger in tests as a host does. Each call is one on a fresh instance; states
/// and timers are those of its panes.
pub struct TriggerTwin<T: Trigger> {
    /// What the trigger sees from here on, in milliseconds. Timers do not come due by
    /// themselves: a test calls `TwinPane::timer`.
    pub watermark: Cell<i64>,
    pub now: Cell<i64>,
    pub ending: Cell<bool>,
    pub(super) args: Vec<Value>,
    trigger: PhantomData<fn(T)>,
}

impl<T: Trigger> TriggerTwin<T> {
    /// Configures the trigger with a job's arguments, by the parameters' names. Panics where
    /// the declaration is wrong or the arguments do not fit it.
    pub fn new(args: &[(&str, Value)]) -> Result<TriggerTwin<T>, Refused> {
        let args = arguments::<TriggerOf<T>>(args);
        Call::<TriggerOf<T>>::new(&args)?;
        let (watermark, now, ending) = (Cell::new(i64::MIN), Cell::new(0), Cell::new(false));
        Ok(TriggerTwin { watermark, now, ending, args, trigger: PhantomData })
    }

    /// Begins a window, which holds times from start up to, not including, end.
    pub fn pane(&self, start: i64, end: i64) -> TwinPane<'_, T> {
        TwinPane { twin: self, start, end, kept: Kept::default() }
    }
}

/// A window of one key, with what a host keeps of the trigger for it.
pub struct TwinPane<'t, T: Trigger> {
    twin: &'t TriggerTwin<T>,
    start: i64,
    end: i64,
    kept: Kept,
}

/// The state of a window, and its timers in each domain.
#[derive(Clone, Debug, Default, PartialEq)]
struct Kept {
    state: Vec<u8>,
    timers: [BTreeSet<i64>; 2],
}

impl<'t, T: Trigger> TwinPane<'t, T> {
    /// The timers that are set, earliest first.
    pub fn timers(&self, domain: Domain) -> Vec<i64> {
        self.kept.timers[domain as usize].iter().copied().collect()
    }

    /// The state of the window, nothing if there is none.
    pub fn state(&self) -> &[u8] {
        &self.kept.state
    }

    /// Shows the trigger records of the window, in one call, and gives a verdict for each.
    /// After a refusal state and timers are what they were.
    pub fn elements<'a>(&mut self, records: &[Timed<<T::Record as Record<'a>>::Of>]) -> Result<Vec<Verdict>, Refused> {
        let shown = self.records(records);
        self.all(&shown)
    }

    /// Checks that verdicts, timers and the state do not depend on where a host cuts records
    /// into calls. The error says what does not hold.
    pub fn laws<'a>(&self, records: &[Timed<<T::Record as Record<'a>>::Of>]) -> Result<(), String> {
        laws(&self.records(records), &self.twin.args, &self.kept)
    }

    /// Lets a time come: its timer is no longer set.
    pub fn timer(&mut self, domain: Domain, at: i64) -> Result<Verdict, Refused> {
        self.kept.timers[domain as usize].remove(&at);
        let what = if domain == Domain::EventTime { EVENT_TIMER } else { PROCESSING_TIMER };
        self.one(what, at, &[])
    }

    /// Lets the window go; its state is gone behind it.
    pub fn clear(&mut self) -> Result<(), Refused> {
        self.one(CLEAR, 0, &[])?;
        self.kept.state.clear();
        Ok(())
    }

    /// Lets the window take over what the trigger keeps of another one.
    pub fn merge(&mut self, old: &TwinPane<'_, T>) -> Result<(), Refused> {
        assert!(T::MERGES, "the trigger does not say MERGES, so that a host uses it with no session");
        self.one(MERGE, 0, &old.kept.state).map(|_| ())
    }

    fn one(&mut self, what: u32, time: i64, old: &[u8]) -> Result<Verdict, Refused> {
        let shown = Shown { ops: vec![self.operation(what, time, 0)], records: Vec::new(), old: old.to_vec(), trigger: PhantomData };
        Ok(self.all(&shown)?[0])
    }

    fn records<'a>(&self, records: &[Timed<<T::Record as Record<'a>>::Of>]) -> Shown<T> {
        let element = |(row, r): (usize, &Timed<_>)| self.operation(ELEMENT, r.time.map_or(i64::MIN, |t: Timestamp| t.0), row as u32);
        let ops = records.iter().enumerate().map(element).collect();
        Shown { ops, records: rows::<T::Record>(records.to_vec()), old: Vec::new(), trigger: PhantomData }
    }

    fn operation(&self, what: u32, time: i64, row: u32) -> Operation {
        let (watermark, now) = (self.twin.watermark.get(), self.twin.now.get());
        let flags = if self.twin.ending.get() { ENDING } else { 0 };
        Operation { start: self.start, end: self.end, watermark, now, time, what, slot: 0, row, from: 1, flags, reserved: 0 }
    }

    fn all(&mut self, shown: &Shown<T>) -> Result<Vec<Verdict>, Refused> {
        let (mut kept, mut verdicts) = (self.kept.clone(), vec![Verdict::Continue; shown.count()]);
        for e in show(shown, &self.twin.args, &mut kept, 0..shown.count(), None)? {
            if e.what == VERDICT {
                verdicts[e.item] = match e.body[0] {
                    1 => Verdict::Fire,
                    2 => Verdict::Purge,
                    3 => Verdict::FireAndPurge,
                    _ => Verdict::Continue,
                };
                assert!(T::MAY_PURGE || e.body[0] & 2 == 0, "the trigger purges and does not say MAY_PURGE");
            }
        }
        self.kept = kept;
        Ok(verdicts)
    }
}

struct Shown<T> {
    ops: Vec<Operation>,
    records: Vec<Vec<Value>>,
    old: Vec<u8>, // the state in slot 1
    trigger: PhantomData<T>,
}

impl<T: Trigger> Items for Shown<T> {
    type Plugin = TriggerOf<T>;
    type Kept = Kept;

    fn op(&self) -> Op {
        Op::Trigger
    }

    fn count(&self) -> usize {
        self.ops.len()
    }

    fn lay(&self, w: &mut Writer, of: Range<usize>, kept: &Kept) -> Block {
        let mut b = Block { items: w.plain(&self.ops[of]), ..Block::default() };
        b.lists[0] = w.list(<T::Record as Record<'_>>::FIELDS, &self.records);
        if T::State::KEPT {
            (b.keys, b.nkeys) = (w.pieces(&[&kept.state, &self.old]), 2);
        }
        b
    }

    fn take(&self, kept: &mut Kept, e: &Entry) {
        let number = || i64::from_le_bytes(e.body[..8].try_into().expect("8 bytes"));
        match e.what {
            KEY_STATE => kept.state = e.body.clone(),
            VERDICT => {}
            what if what < DELETE => drop(kept.timers[(what - SET) as usize].insert(number())),
            what => drop(kept.timers[(what - DELETE) as usize].remove(&number())),
        }
    }
}
