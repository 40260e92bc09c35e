//! The twin of watermark generators.

use crate::answer::KEY_STATE;
use crate::column::{Field, Record};
use crate::list::{rows, Block, Timed};
use crate::plugin::Op;
use crate::state::State;
use crate::twin::items::{laws, row_of, show, Entry, Items};
use crate::twin::writer::Writer;
use crate::twin::{arguments, Call, Refused};
use crate::value::{Timestamp, Value};
use crate::watermark::{Watermark, Watermarks, WatermarksOf};
use std::marker::PhantomData;
use std::ops::Range;

/// Drives a watermark generator in tests as a host does, for one split. Each call is one on
/// a fresh instance; the state is the twin's.
pub struct WatermarksTwin<W: Watermarks> {
    pub(super) args: Vec<Value>,
    state: Vec<u8>,
    watermarks: PhantomData<fn(W)>,
}

impl<W: Watermarks> WatermarksTwin<W> {
    /// Configures the generator with a job's arguments, by the parameters' names. Panics
    /// where the declaration is wrong or the arguments do not fit it.
    pub fn new(args: &[(&str, Value)]) -> Result<WatermarksTwin<W>, Refused> {
        let args = arguments::<WatermarksOf<W>>(args);
        Call::<WatermarksOf<W>>::new(&args)?;
        Ok(WatermarksTwin { args, state: Vec::new(), watermarks: PhantomData })
    }

    /// Shows the generator records, all of which have times, in one call, and gives what it
    /// says behind each of them. After a refusal its state is what it was.
    pub fn show<'a>(&mut self, records: &[Timed<<W::Record as Record<'a>>::Of>]) -> Result<Vec<Option<Timestamp>>, Refused> {
        self.all(&Shown::<W>::new(records))
    }

    /// Lets the generator look at a clock, and gives what it says.
    pub fn tick(&mut self, now: i64) -> Result<Option<Timestamp>, Refused> {
        let clock = Shown::<W> { op: Op::Tick, fields: &[], rows: vec![vec![Timestamp(now).into()]], watermarks: PhantomData };
        Ok(self.all(&clock)?[0])
    }

    fn all(&mut self, shown: &Shown<W>) -> Result<Vec<Option<Timestamp>>, Refused> {
        let (mut state, mut said) = (self.state.clone(), vec![None; shown.count()]);
        for e in show(shown, &self.args, &mut state, 0..shown.count(), None)? {
            if e.what == 0 {
                said[e.item] = Some(row_of::<Watermark>(&e.body).watermark);
            }
        }
        self.state = state;
        Ok(said)
    }

    /// Checks that what is said behind records, and the state behind them, does not depend
    /// on where a host cuts them into calls. The error says what does not hold.
    pub fn laws<'a>(&self, records: &[Timed<<W::Record as Record<'a>>::Of>]) -> Result<(), String> {
        laws(&Shown::<W>::new(records), &self.args, &self.state)
    }

    /// The state of the split, nothing if there is none.
    pub fn state(&self) -> &[u8] {
        &self.state
    }
}

struct Shown<W> {
    op: Op,
    fields: &'static [Field],
    rows: Vec<Vec<Value>>,
    watermarks: PhantomData<W>,
}

impl<W: Watermarks> Shown<W> {
    fn new<'a>(records: &[Timed<<W::Record as Record<'a>>::Of>]) -> Shown<W> {
        assert!(records.iter().all(|r| r.time.is_some()), "a host shows a watermark generator no record without a time");
        let rows = rows::<W::Record>(records.to_vec());
        Shown { op: Op::Watermark, fields: <W::Record as Record<'static>>::FIELDS, rows, watermarks: PhantomData }
    }
}

impl<W: Watermarks> Items for Shown<W> {
    type Plugin = WatermarksOf<W>;
    type Kept = Vec<u8>;

    fn op(&self) -> Op {
        self.op
    }

    fn count(&self) -> usize {
        self.rows.len()
    }

    fn lay(&self, w: &mut Writer, of: Range<usize>, state: &Vec<u8>) -> Block {
        let mut b = Block::default();
        b.lists[0] = w.list(self.fields, &self.rows[of]);
        if W::State::KEPT {
            (b.keys, b.nkeys) = (w.pieces(&[state]), 1);
        }
        b
    }

    fn take(&self, state: &mut Vec<u8>, e: &Entry) {
        if e.what == KEY_STATE {
            *state = e.body.clone();
        }
    }
}
