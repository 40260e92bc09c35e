//! Process functions: what looks at each firing of a window.

use crate::answer::{Answer, KEY_STATE, WINDOW_STATE};
use crate::column::{Columns, Record};
use crate::frame::{Frame, Status};
use crate::list::{Block, Lists, Span};
use crate::manifest::Manifest;
use crate::output::{Row, Rows};
use crate::param::Params;
use crate::plugin::{Op, Plugin};
use crate::refusal::Refusal;
use crate::side::{Side, Sides};
use crate::state::{Slot, State, States};
use crate::upgrade::{self, Upgrade};
use crate::value::Timestamp;
use std::marker::PhantomData;

/// A function that is shown each firing of a window, in place of the row that aggregates
/// would give, and gives any number of rows. What it does for a firing follows from that
/// firing and its states alone: it keeps nothing else.
///
/// ```
/// use tidemark::{Firing, Process, Refusal};
///
/// tidemark::record! { struct Hour { count: i64 } }
/// tidemark::row! { struct Rise { before: i64, now: i64 } }
/// tidemark::plain! { struct Last { count: i64 } }
///
/// struct Rises;
///
/// impl Process for Rises {
///     const NAME: &'static str = "rises";
///     const VERSION: &'static str = "1.0.0";
///     type Inputs = Hour;
///     type Records = ();
///     type Row = Rise;
///     type Side = ();
///     type Params = ();
///     type KeyState = Last;
///     type WindowState = ();
///
///     fn process(f: &mut Firing<Self>, _: &()) -> Result<(), Refusal> {
///         let now = f.inputs.count;
///         match f.key.get() {
///             Some(last) if last.count < now => f.emit(Rise { before: last.count, now }),
///             _ => {}
///         }
///         f.key.set(Last { count: now });
///         Ok(())
///     }
/// }
///
/// tidemark::plugin!(Rises: Process);
/// ```
pub trait Process: Sized {
    /// `[a-z][a-z0-9_-]{0,62}`
    const NAME: &'static str;
    /// Free text of at most 64 bytes.
    const VERSION: &'static str;
    /// Version of the states' layout, to be raised when it changes.
    const SCHEMA: u32 = 1;
    /// The older layouts that it converts from.
    const UPGRADES: &'static [Upgrade] = &[];

    /// Columns with a value for each firing, from `record!`, or `()`: results of aggregates
    /// and fields of the key, as the job binds them.
    type Inputs: for<'a> Record<'a>;
    /// The records of each firing: `()` for none, [`Records`](crate::Records) or
    /// [`CoGroup`](crate::CoGroup).
    type Records: for<'a> Lists<'a>;
    /// From `row!`: the results.
    type Row: for<'a> Rows<'a>;
    /// From `sides!`, or `()`.
    type Side: for<'a> Sides<'a>;
    /// From `params!`, or `()`.
    type Params: Params;
    /// What is kept of each key, for all of its windows: `()`, a struct of `plain!`, or
    /// [`Bytes`](crate::Bytes).
    type KeyState: State;
    /// What is kept of each window of a key. Windows that merge have no state.
    type WindowState: State;

    /// Checks the arguments, once on each instance, before anything else.
    fn configure(_: &Self::Params) -> Result<(), Refusal> {
        Ok(())
    }

    /// Is shown a firing. An Err refuses it: its window gives no rows then, and states are
    /// what they were.
    fn process(f: &mut Firing<'_, Self>, p: &Self::Params) -> Result<(), Refusal>;
}

/// What a process function is shown: one firing of a window of a key.
pub struct Firing<'a, P: Process> {
    /// The window holds times from start up to, not including, end; a global one holds all
    /// times.
    pub start: Timestamp,
    pub end: Timestamp,
    /// How far event time was when the window fired.
    pub watermark: Timestamp,
    /// The host's clock. Rows that depend on it differ from run to run.
    pub now: Timestamp,
    /// Counts the earlier firings of the window: above 0 this one is an update.
    pub revision: u32,
    pub inputs: <P::Inputs as Record<'a>>::Of,
    /// In order of arrival.
    pub records: <P::Records as Lists<'a>>::Of,
    /// The state of the key.
    pub key: Slot<'a, P::KeyState>,
    /// The state of the window.
    pub window: Slot<'a, P::WindowState>,
    answer: &'a Answer,
}

impl<'a, P: Process> Firing<'a, P> {
    /// Gives a row of the results.
    pub fn emit<'r>(&self, row: <P::Row as Rows<'r>>::Of) {
        self.answer.row(row)
    }

    /// Gives a row of a side output.
    pub fn side<'r>(&self, row: <P::Side as Sides<'r>>::Of) {
        self.answer.side(row)
    }
}

/// A firing as it lies in memory (abi/SPEC.md, section 3).
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct FiringData {
    pub start: i64,
    pub end: i64,
    pub watermark: i64,
    pub now: i64,
    pub key: u32,
    pub window: u32,
    pub revision: u32,
    pub reserved: u32,
    pub records: [Span; 2],
}

const _: () = assert!(std::mem::size_of::<FiringData>() == 64);

/// The plug-in that a process function makes.
#[doc(hidden)]
pub struct ProcessOf<P>(PhantomData<P>);

impl<P: Process> Plugin for ProcessOf<P> {
    type Params = P::Params;

    fn configure(p: &P::Params) -> Result<(), Refusal> {
        P::configure(p)
    }

    fn serve(op: Op, f: Frame, columns: &mut Columns<'static>, p: &P::Params) -> Option<Status> {
        if op == Op::Upgrade {
            return upgrade::serve(f, P::UPGRADES, 0);
        }
        let fields = <P::Inputs as Record<'_>>::FIELDS;
        if op != Op::Process || !columns.bind_inputs(&f, fields.iter().map(|f| f.kind)) {
            return None;
        }
        let inputs = P::Inputs::bound(columns);
        let answer = Answer::new(f);
        let block = Block::of(&f)?;
        let firings = f.slice::<FiringData>(block.items, f.header().rows as usize)?;
        let lists = P::Records::bind(&f, &block.lists)?;
        let mut keys = States::<P::KeyState>::open(&f, block.keys, block.nkeys, KEY_STATE)?;
        let mut windows = States::<P::WindowState>::open(&f, block.windows, block.nwindows, WINDOW_STATE)?;
        answer.to_each(|i| {
            let d = firings[i];
            let mut firing = Firing {
                start: Timestamp(d.start),
                end: Timestamp(d.end),
                watermark: Timestamp(d.watermark),
                now: Timestamp(d.now),
                revision: d.revision,
                inputs: unsafe { P::Inputs::read(&inputs, i) }, // bound to as many rows
                records: P::Records::of(&lists, &d.records)?,
                key: keys.slot(d.key)?,
                window: windows.slot(d.window)?,
                answer: &answer,
            };
            let said = P::process(&mut firing, p);
            if said.is_ok() {
                keys.leave(d.key, firing.key, &answer);
                windows.leave(d.window, firing.window, &answer);
            }
            Some(said)
        })
    }

    fn manifest() -> Result<String, String> {
        let mut m = Manifest::new("process", P::NAME, P::VERSION).inputs("inputs", <P::Inputs as Record<'_>>::FIELDS);
        for (member, fields) in <P::Records as Lists<'_>>::MEMBERS {
            m = m.inputs(member, fields);
        }
        m.outputs("outputs", <<P::Row as Rows<'_>>::Of as Row>::FIELDS)
            .sides(<<P::Side as Sides<'_>>::Of as Side>::SIDES)
            .params(&P::Params::declared())
            .states(P::KeyState::KEPT, P::WindowState::KEPT, P::SCHEMA, P::UPGRADES)
            .done()
    }
}
