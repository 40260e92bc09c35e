//! Triggers: what decides when a window fires, and when it is emptied.

use crate::answer::{Answer, KEY_STATE};
use crate::column::{Columns, Record};
use crate::frame::{Frame, Status};
use crate::list::{Block, Bound};
use crate::manifest::Manifest;
use crate::param::Params;
use crate::plugin::{Op, Plugin};
use crate::refusal::Refusal;
use crate::state::{Slot, State, States};
use crate::upgrade::{self, Upgrade};
use crate::value::Timestamp;
use std::marker::PhantomData;

/// What becomes of a window's contents: Fire gives a result, Purge drops them,
/// FireAndPurge does both, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Continue = 0,
    Fire = 1,
    Purge = 2,
    FireAndPurge = 3,
}

/// The time that a timer belongs to. What goes by ProcessingTime, the host's clock, differs
/// from run to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    EventTime,
    ProcessingTime,
}

/// A trigger sees records and timers, never what the window has made of them, and keeps
/// nothing but its state: what it answers must follow from the pane.
///
/// ```
/// use tidemark::{Domain, Pane, Refusal, Timestamp, Trigger, Verdict};
///
/// tidemark::record! { struct Order { urgent: bool } }
///
/// struct Urgent;
///
/// impl Trigger for Urgent {
///     const NAME: &'static str = "urgent";
///     const VERSION: &'static str = "1.0.0";
///     type Record = Order;
///     type Params = ();
///     type State = ();
///
///     fn element(p: &mut Pane<Self>, _: Option<Timestamp>, r: Order, _: &()) -> Result<Verdict, Refusal> {
///         p.set_timer(Domain::EventTime, p.last());
///         Ok(if r.urgent { Verdict::Fire } else { Verdict::Continue })
///     }
///
///     fn timer(p: &mut Pane<Self>, domain: Domain, at: Timestamp, _: &()) -> Result<Verdict, Refusal> {
///         let ends = domain == Domain::EventTime && at == p.last();
///         Ok(if ends { Verdict::Fire } else { Verdict::Continue })
///     }
/// }
///
/// tidemark::plugin!(Urgent: Trigger);
/// ```
pub trait Trigger: Sized {
    /// `[a-z][a-z0-9_-]{0,62}`
    const NAME: &'static str;
    /// Free text of at most 64 bytes.
    const VERSION: &'static str;
    /// Version of the state's layout, to be raised when it changes.
    const SCHEMA: u32 = 1;
    /// The older layouts that it converts from.
    const UPGRADES: &'static [Upgrade] = &[];
    /// It answers Purge or FireAndPurge. If it does so without saying it here, that is a
    /// mistake of the trigger's.
    const MAY_PURGE: bool = false;
    /// It has `merge`, so that it can be used with sessions.
    const MERGES: bool = false;

    /// Columns of the records, beside their times: from `record!`, or `()`.
    type Record: for<'a> Record<'a>;
    /// From `params!`, or `()`.
    type Params: Params;
    /// What is kept of each window of each key: `()`, a struct of `plain!`, or
    /// [`Bytes`](crate::Bytes).
    type State: State;

    /// Checks the arguments, once on each instance, before anything else.
    fn configure(_: &Self::Params) -> Result<(), Refusal> {
        Ok(())
    }

    /// Is shown every record of a window, with its event time. An Err refuses the record.
    fn element(
        pane: &mut Pane<'_, Self>,
        time: Option<Timestamp>,
        r: <Self::Record as Record<'_>>::Of,
        p: &Self::Params,
    ) -> Result<Verdict, Refusal>;

    /// Is called when a time that was set has come. It is also shown timers of the host's,
    /// such as that of the window's cleanup. After an Err the window fires as if it had no
    /// trigger of its own.
    fn timer(_pane: &mut Pane<'_, Self>, _domain: Domain, _at: Timestamp, _: &Self::Params) -> Result<Verdict, Refusal> {
        Ok(Verdict::Continue)
    }

    /// Is called when the window goes, to delete timers that are still set. The state goes
    /// by itself.
    fn clear(_pane: &mut Pane<'_, Self>, _: &Self::Params) -> Result<(), Refusal> {
        Ok(())
    }

    /// Takes over the state of a session that becomes a part of this one; timers of that
    /// one are gone.
    fn merge(_pane: &mut Pane<'_, Self>, _old: &Slot<'_, Self::State>, _: &Self::Params) -> Result<(), Refusal> {
        Ok(())
    }
}

/// What a trigger is shown: a window of a key.
pub struct Pane<'a, T: Trigger> {
    /// The window holds times from start up to, not including, end; a global one holds all
    /// times.
    pub start: Timestamp,
    pub end: Timestamp,
    /// How far event time is.
    pub watermark: Timestamp,
    /// The host's clock.
    pub now: Timestamp,
    /// The input has ended: event time goes on to its end, timer by timer. In a global
    /// window only a timer at `last` can then still be set.
    pub ending: bool,
    pub state: Slot<'a, T::State>,
    answer: &'a Answer,
}

impl<'a, T: Trigger> Pane<'a, T> {
    /// The last time that the window holds: when the watermark reaches it, the window is
    /// complete.
    pub fn last(&self) -> Timestamp {
        let global = self.start.0 == i64::MIN && self.end.0 == i64::MAX;
        Timestamp(self.end.0 - i64::from(!global))
    }

    /// Asks for a call of `timer` at a time. Timers are a set: to set one twice is to set it
    /// once. One that is not later than the present fires when time moves on.
    pub fn set_timer(&self, domain: Domain, at: Timestamp) {
        self.answer.words(SET + domain as u32, [at.0 as u64])
    }

    /// Takes a timer back; one that is not set does no harm.
    pub fn delete_timer(&self, domain: Domain, at: Timestamp) {
        self.answer.words(DELETE + domain as u32, [at.0 as u64])
    }
}

/// What an operation is.
pub(crate) const ELEMENT: u32 = 0;
pub(crate) const EVENT_TIMER: u32 = 1;
pub(crate) const PROCESSING_TIMER: u32 = 2;
pub(crate) const MERGE: u32 = 3;
pub(crate) const CLEAR: u32 = 4;

/// What an entry of the answer is, beside a state; of timers the number of the domain is
/// to be added.
pub(crate) const VERDICT: u32 = 0;
pub(crate) const SET: u32 = 1;
pub(crate) const DELETE: u32 = 3;

/// Bit of `Operation::flags`.
pub(crate) const ENDING: u32 = 1;

/// An operation as it lies in memory (abi/SPEC.md, section 3).
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Operation {
    pub start: i64,
    pub end: i64,
    pub watermark: i64,
    pub now: i64,
    pub time: i64,
    pub what: u32,
    pub slot: u32,
    pub row: u32,
    pub from: u32,
    pub flags: u32,
    pub reserved: u32,
}

const _: () = assert!(std::mem::size_of::<Operation>() == 64);

/// The plug-in that a trigger makes.
#[doc(hidden)]
pub struct TriggerOf<T>(PhantomData<T>);

impl<T: Trigger> Plugin for TriggerOf<T> {
    type Params = T::Params;

    fn configure(p: &T::Params) -> Result<(), Refusal> {
        T::configure(p)
    }

    fn serve(op: Op, f: Frame, _: &mut Columns<'static>, p: &T::Params) -> Option<Status> {
        if op == Op::Upgrade {
            return upgrade::serve(f, T::UPGRADES, 0);
        }
        let answer = Answer::new(f);
        let block = Block::of(&f)?;
        let ops = f.slice::<Operation>(block.items, f.header().rows as usize)?;
        let records = Bound::<T::Record>::open(&f, &block.lists[0])?;
        let mut states = States::<T::State>::open(&f, block.keys, block.nkeys, KEY_STATE)?;
        if op != Op::Trigger {
            return None;
        }
        answer.to_each(|i| {
            let d = ops[i];
            let mut pane = Pane::<T> {
                start: Timestamp(d.start),
                end: Timestamp(d.end),
                watermark: Timestamp(d.watermark),
                now: Timestamp(d.now),
                ending: d.flags & ENDING != 0,
                state: states.slot(d.slot)?,
                answer: &answer,
            };
            let at = Timestamp(d.time);
            let verdict = match d.what {
                ELEMENT => {
                    let r = records.at(d.row)?;
                    T::element(&mut pane, r.time, r.record, p)
                }
                EVENT_TIMER => T::timer(&mut pane, Domain::EventTime, at, p),
                PROCESSING_TIMER => T::timer(&mut pane, Domain::ProcessingTime, at, p),
                MERGE => T::merge(&mut pane, &states.slot(d.from)?, p).map(|()| Verdict::Continue),
                CLEAR => T::clear(&mut pane, p).map(|()| Verdict::Continue),
                _ => return None,
            };
            Some(verdict.map(|v| {
                if v != Verdict::Continue {
                    answer.words(VERDICT, [v as u64]);
                }
                states.leave(d.slot, pane.state, &answer);
            }))
        })
    }

    fn manifest() -> Result<String, String> {
        Manifest::new("trigger", T::NAME, T::VERSION)
            .inputs("inputs", <T::Record as Record<'_>>::FIELDS)
            .params(&T::Params::declared())
            .state(T::State::KEPT, T::SCHEMA, T::UPGRADES)
            .flag("may_purge", T::MAY_PURGE)
            .flag("merges", T::MERGES)
            .done()
    }
}
