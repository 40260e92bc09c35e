//! The twin of process functions.

use crate::answer::{KEY_STATE, WINDOW_STATE};
use crate::column::Record;
use crate::list::{Block, Lists, Span};
use crate::output::Rows;
use crate::plugin::Op;
use crate::process::{FiringData, Process, ProcessOf};
use crate::side::{Side, Sides};
use crate::state::State;
use crate::twin::items::{laws, row_of, show, values_of, Entry, Items};
use crate::twin::writer::Writer;
use crate::twin::{arguments, Call, Refused};
use crate::value::{Kind, Timestamp, Value};
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::ops::Range;

/// A firing that a test shows to a process function.
pub struct Fired<'a, P: Process> {
    /// Names the state of the key; the function does not see it.
    pub key: &'a str,
    pub start: Timestamp,
    pub end: Timestamp,
    pub watermark: Timestamp,
    pub now: Timestamp,
    pub revision: u32,
    pub inputs: <P::Inputs as Record<'a>>::Of,
    pub records: <P::Records as Lists<'a>>::Given,
}

impl<'a, P: Process> Fired<'a, P> {
    /// The first firing of a window of a key, at its end, with the clock at 0. Times are in
    /// milliseconds.
    pub fn new(
        key: &'a str,
        start: i64,
        end: i64,
        inputs: <P::Inputs as Record<'a>>::Of,
        records: <P::Records as Lists<'a>>::Given,
    ) -> Fired<'a, P> {
        let (start, end, watermark) = (Timestamp(start), Timestamp(end), Timestamp(end - 1));
        Fired { key, start, end, watermark, now: Timestamp(0), revision: 0, inputs, records }
    }
}

impl<'a, P: Process> Clone for Fired<'a, P> {
    fn clone(&self) -> Self {
        Fired { inputs: self.inputs.clone(), records: self.records.clone(), ..*self }
    }
}

/// What a process function gave for some firings, in order.
pub struct Given<P: Process> {
    pub rows: Vec<<P::Row as Rows<'static>>::Of>,
    pub side: Vec<<P::Side as Sides<'static>>::Of>,
}

/// Drives a process function in tests as a host does. Each call is one on a fresh instance;
/// states are the twin's.
pub struct ProcessTwin<P: Process> {
    pub(super) args: Vec<Value>,
    kept: Kept,
    process: PhantomData<fn(P)>,
}

type Window = (String, i64, i64);

/// The states of keys and of windows.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Kept {
    keys: BTreeMap<String, Vec<u8>>,
    windows: BTreeMap<Window, Vec<u8>>,
}

impl<P: Process> ProcessTwin<P> {
    /// Configures the function with a job's arguments, by the parameters' names. Panics
    /// where the declaration is wrong or the arguments do not fit it.
    pub fn new(args: &[(&str, Value)]) -> Result<ProcessTwin<P>, Refused> {
        let args = arguments::<ProcessOf<P>>(args);
        Call::<ProcessOf<P>>::new(&args)?;
        Ok(ProcessTwin { args, kept: Kept::default(), process: PhantomData })
    }

    /// Shows the function some firings, in one call, and keeps the states that it leaves.
    /// After a refusal states are what they were.
    pub fn fire(&mut self, firings: &[Fired<'_, P>]) -> Result<Given<P>, Refused> {
        let mut kept = self.kept.clone();
        let entries = show(&Shown::new(firings), &self.args, &mut kept, 0..firings.len(), None)?;
        self.kept = kept;
        let mut given = Given { rows: Vec::new(), side: Vec::new() };
        for e in entries {
            match e.what {
                0 => given.rows.push(row_of(&e.body)),
                KEY_STATE | WINDOW_STATE => {}
                side => given.side.push(side_of(side as usize - 1, &e.body)),
            }
        }
        Ok(given)
    }

    /// Checks that what is given for firings, and what is kept behind them, does not depend
    /// on where a host cuts them into calls. The error says what does not hold.
    pub fn laws(&self, firings: &[Fired<'_, P>]) -> Result<(), String> {
        laws(&Shown::new(firings), &self.args, &self.kept)
    }

    /// The state of a key, nothing if there is none.
    pub fn key_state(&self, key: &str) -> &[u8] {
        self.kept.keys.get(key).map_or(&[], |s| s)
    }

    /// The state of a window of a key, nothing if there is none.
    pub fn window_state(&self, key: &str, start: i64, end: i64) -> &[u8] {
        self.kept.windows.get(&(key.into(), start, end)).map_or(&[], |s| s)
    }

    /// Removes the state of a window of a key, as a host does at the window's cleanup.
    pub fn clean(&mut self, key: &str, start: i64, end: i64) {
        self.kept.windows.remove(&(key.into(), start, end));
    }

    /// Removes the state of a key.
    pub fn expire(&mut self, key: &str) {
        self.kept.keys.remove(key);
    }
}

fn side_of<S: Side>(index: usize, body: &[u8]) -> S {
    S::of(index, values_of(body, S::SIDES[index].1)).expect("BUG: a row of other columns")
}

pub(crate) struct Shown<P> {
    windows: Vec<Window>,
    data: Vec<FiringData>, // without slots and rows of lists
    inputs: Vec<Vec<Value>>,
    lists: Vec<Vec<Vec<Vec<Value>>>>, // of each firing
    process: PhantomData<P>,
}

impl<P: Process> Shown<P> {
    pub fn new(firings: &[Fired<'_, P>]) -> Shown<P> {
        let data = |f: &Fired<'_, P>| FiringData {
            start: f.start.0,
            end: f.end.0,
            watermark: f.watermark.0,
            now: f.now.0,
            key: u32::MAX,
            window: u32::MAX,
            revision: f.revision,
            reserved: 0,
            records: [Span::default(); 2],
        };
        Shown {
            windows: firings.iter().map(|f| (f.key.into(), f.start.0, f.end.0)).collect(),
            data: firings.iter().map(data).collect(),
            inputs: firings.iter().map(|f| P::Inputs::values(f.inputs.clone())).collect(),
            lists: firings.iter().map(|f| P::Records::values(f.records.clone())).collect(),
            process: PhantomData,
        }
    }
}

impl<P: Process> Items for Shown<P> {
    type Plugin = ProcessOf<P>;
    type Kept = Kept;

    fn op(&self) -> Op {
        Op::Process
    }

    fn count(&self) -> usize {
        self.data.len()
    }

    fn lay(&self, w: &mut Writer, of: Range<usize>, kept: &Kept) -> Block {
        let columns: Vec<(Kind, bool)> = <P::Inputs as Record<'_>>::FIELDS.iter().map(|f| (f.kind, f.nullable)).collect();
        w.columns(&columns, &self.inputs[of.clone()]);
        let (mut keys, mut windows) = (Table::default(), Table::default());
        let mut lists = [Vec::new(), Vec::new()];
        let mut firings = Vec::new();
        for i in of {
            let (mut d, window) = (self.data[i], &self.windows[i]);
            if P::KeyState::KEPT {
                d.key = keys.slot(&window.0, &kept.keys);
            }
            if P::WindowState::KEPT {
                d.window = windows.slot(window, &kept.windows);
            }
            for (n, rows) in self.lists[i].iter().enumerate() {
                d.records[n].from = lists[n].len() as u32;
                lists[n].extend_from_slice(rows);
                d.records[n].to = lists[n].len() as u32;
            }
            firings.push(d);
        }
        let mut b = Block { items: w.plain(&firings), ..Block::default() };
        for (n, (_, fields)) in <P::Records as Lists<'_>>::MEMBERS.iter().enumerate() {
            b.lists[n] = w.list(fields, &lists[n]);
        }
        (b.keys, b.nkeys) = (w.pieces(&keys.states), keys.states.len() as u32);
        (b.windows, b.nwindows) = (w.pieces(&windows.states), windows.states.len() as u32);
        b
    }

    fn take(&self, kept: &mut Kept, e: &Entry) {
        let window = &self.windows[e.item];
        match e.what {
            KEY_STATE => kept.keys.insert(window.0.clone(), e.body.clone()),
            WINDOW_STATE => kept.windows.insert(window.clone(), e.body.clone()),
            _ => None,
        };
    }
}

/// The states of a frame, each once.
struct Table<'a, K> {
    names: Vec<K>,
    states: Vec<&'a [u8]>,
}

impl<'a, K> Default for Table<'a, K> {
    fn default() -> Self {
        Table { names: Vec::new(), states: Vec::new() }
    }
}

impl<'a, K: Clone + Ord> Table<'a, K> {
    fn slot(&mut self, name: &K, kept: &'a BTreeMap<K, Vec<u8>>) -> u32 {
        let known = self.names.iter().position(|n| n == name);
        known.unwrap_or_else(|| {
            self.names.push(name.clone());
            self.states.push(kept.get(name).map_or(&[], |s| s));
            self.names.len() - 1
        }) as u32
    }
}
