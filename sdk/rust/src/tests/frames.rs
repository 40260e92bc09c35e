//! Frames of all kinds but aggregates that no host may write.

use super::answers::{Busy, Mirror};
use crate as tidemark;
use crate::assigner::AssignerOf;
use crate::list::{Block, Span};
use crate::map::MapOf;
use crate::pair::{PairData, PairOf};
use crate::plugin::{Op, Plugin};
use crate::process::{FiringData, ProcessOf};
use crate::trigger::{Operation, TriggerOf, CLEAR, ELEMENT, MERGE};
use crate::twin::writer::Writer;
use crate::twin::Call;
use crate::watermark::WatermarksOf;
use crate::*;

tidemark::plain! { struct Kept { n: i64 } }
tidemark::row! { struct Out { n: i64 } }

/// Takes all that a well-formed frame of any kind can hold.
struct Any;

impl Pair for Any {
    const NAME: &'static str = "any";
    const VERSION: &'static str = "1";
    type Left = ();
    type Right = ();
    type Row = Out;
    type Params = ();
    fn pair(_: &Paired<Self>, _: &()) -> Result<(), Refusal> {
        Ok(())
    }
}

impl Watermarks for Any {
    const NAME: &'static str = "any";
    const VERSION: &'static str = "1";
    type Record = ();
    type Params = ();
    type State = Kept;
    fn record(_: &mut Slot<Kept>, _: Timestamp, _: (), _: &()) -> Result<Option<Timestamp>, Refusal> {
        Ok(None)
    }
}

impl Trigger for Any {
    const NAME: &'static str = "any";
    const VERSION: &'static str = "1";
    type Record = ();
    type Params = ();
    type State = Kept;
    fn element(_: &mut Pane<Self>, _: Option<Timestamp>, _: (), _: &()) -> Result<Verdict, Refusal> {
        Ok(Verdict::Continue)
    }
}

impl Assigner for Any {
    const NAME: &'static str = "any";
    const VERSION: &'static str = "1";
    type Record = ();
    type Params = ();
    fn assign(_: &Assigned<Self>, _: &()) -> Result<(), Refusal> {
        Ok(())
    }
}

/// A frame of two items, and the one thing about it that is to be wrong.
struct Frame {
    rows: u32,
    times: [Option<i64>; 2],
    firings: [FiringData; 2],
    pairs: [PairData; 2],
    ops: [Operation; 2],
    states: Vec<&'static [u8]>,
    edit: fn(&mut Writer, &mut Block),
}

impl Frame {
    fn new() -> Frame {
        let firing = FiringData {
            start: 0,
            end: 9,
            watermark: 0,
            now: 0,
            key: 0,
            window: 1,
            revision: 0,
            reserved: 0,
            records: [Span { from: 0, to: 2 }, Span { from: 1, to: 1 }],
        };
        let op =
            Operation { start: 0, end: 9, watermark: 0, now: 0, time: 0, what: ELEMENT, slot: 0, row: 1, from: 1, flags: 0, reserved: 0 };
        Frame {
            rows: 2,
            times: [Some(5), Some(6)],
            firings: [firing; 2],
            pairs: [PairData { left: 0, right: 1, time: 0 }; 2],
            ops: [op; 2],
            states: vec![b"", b""],
            edit: |_, _| {},
        }
    }

    /// Says whether the guest could read the frame.
    fn is_read<P: Plugin>(&self, op: Op, item: impl FnOnce(&Frame, &mut Writer) -> (u32, [&'static [column::Field]; 2])) -> bool {
        let mut c = Call::<P>::new(&[]).unwrap();
        if op == Op::Process {
            let fields = <super::answers::Fields<'static> as Record<'_>>::FIELDS;
            let columns: Vec<_> = fields.iter().map(|f| (f.kind, f.nullable)).collect();
            c.w.columns(&columns, &[vec![1i64.into(), "a".into()], vec![2i64.into(), "b".into()]]);
        }
        let (items, lists) = item(self, &mut c.w);
        let mut b = Block { items, ..Block::default() };
        for (n, fields) in lists.iter().enumerate() {
            let row = |t: &Option<i64>| {
                std::iter::once(t.map(Timestamp).into())
                    .chain(fields.iter().map(|f| if f.nullable { Value::Null } else { 1i64.into() }))
                    .collect()
            };
            b.lists[n] = c.w.list(fields, &self.times.iter().map(row).collect::<Vec<_>>());
        }
        (b.keys, b.nkeys) = (c.w.pieces(&self.states), self.states.len() as u32);
        (b.windows, b.nwindows) = (b.keys, b.nkeys);
        c.w.header().rows = self.rows;
        (self.edit)(&mut c.w, &mut b);
        if c.w.header().block == 0 {
            c.w.header().block = c.w.plain(&[b]);
        }
        c.call(op, None) != crate::frame::Status::BadFrame
    }
}

const NONE: [&[column::Field]; 2] = [&[], &[]];

fn process(f: &Frame) -> bool {
    f.is_read::<ProcessOf<Busy>>(Op::Process, |f, w| {
        (w.plain(&f.firings), [<super::answers::Left as Record<'_>>::FIELDS, <super::answers::Right<'static> as Record<'_>>::FIELDS])
    })
}

fn map(f: &Frame) -> bool {
    f.is_read::<MapOf<Mirror>>(Op::Map, |_, _| (0, [<super::answers::Every<'static> as Record<'_>>::FIELDS, &[]]))
}

fn pair(f: &Frame) -> bool {
    f.is_read::<PairOf<Any>>(Op::Pair, |f, w| (w.plain(&f.pairs), NONE))
}

fn watermark(f: &Frame) -> bool {
    f.is_read::<WatermarksOf<Any>>(Op::Watermark, |_, _| (0, NONE))
}

fn tick(f: &Frame) -> bool {
    f.is_read::<WatermarksOf<Any>>(Op::Tick, |_, _| (0, NONE))
}

fn trigger(f: &Frame) -> bool {
    f.is_read::<TriggerOf<Any>>(Op::Trigger, |f, w| (w.plain(&f.ops), NONE))
}

fn assign(f: &Frame) -> bool {
    f.is_read::<AssignerOf<Any>>(Op::Assign, |_, _| (0, NONE))
}

type Reads = fn(&Frame) -> bool;

const KINDS: [(&str, Reads); 6] =
    [("process", process), ("map", map), ("pair", pair), ("watermark", watermark), ("trigger", trigger), ("assign", assign)];

fn one_state(f: &mut Frame) {
    f.states = vec![b""];
}

#[test]
fn frames_of_every_kind_that_no_host_may_write_are_bad() {
    for (name, read) in KINDS {
        let mut f = Frame::new();
        if name == "watermark" {
            one_state(&mut f);
        }
        assert!(read(&f) && (name != "watermark" || tick(&f)), "{}", name);
        let edits: [fn(&mut Writer, &mut Block); 6] = [
            |w, _| w.header().block = u32::MAX - 7,
            |w, _| w.header().block = 97,
            |_, b| b.lists[0].ncols += 1,
            |_, b| b.lists[0].cols += 4,
            |_, b| b.lists[0].rows = u32::MAX,
            |_, b| b.lists[0].cols = 4 << 20,
        ];
        for (i, edit) in edits.into_iter().enumerate() {
            f.edit = edit;
            assert!(!read(&f), "{}, edit {}", name, i);
        }
    }
}

#[test]
fn what_only_some_kinds_have_is_checked() {
    let bad = |name: &str, read: Reads, edit: &dyn Fn(&mut Frame)| {
        let mut f = Frame::new();
        edit(&mut f);
        assert!(!read(&f), "{}", name);
    };
    for (name, read) in [("process", process as Reads), ("pair", pair), ("trigger", trigger)] {
        bad(name, read, &|f| f.edit = |_, b| b.items = (4 << 20) - 8);
        bad(name, read, &|f| f.edit = |_, b| b.items += 4);
    }
    for (name, read) in [("process", process as Reads), ("trigger", trigger)] {
        bad(name, read, &|f| f.edit = |_, b| b.nkeys = u32::MAX);
        bad(name, read, &|f| f.edit = |_, b| b.keys = 4 << 20);
        bad(name, read, &|f| f.edit = |w, b| w.bytes(b.keys as usize, &[9])); // offsets that go backwards
        bad(name, read, &|f| f.edit = |w, b| w.bytes(b.keys as usize + 11, &[9]));
        // and out of the frame
    }
    bad("a key that is not there", process, &|f| f.firings[1].key = 2);
    bad("a window that is not there", process, &|f| f.firings[1].window = u32::MAX);
    bad("records beyond the list", process, &|f| f.firings[1].records[0].to = 3);
    bad("records backwards", process, &|f| f.firings[1].records[1].to = 0);
    bad("another column", process, &|f| f.edit = |w, _| w.header().ncols = 1);
    bad("a left row beyond the list", pair, &|f| f.pairs[1].left = 2);
    bad("a right row beyond the list", pair, &|f| f.pairs[1].right = 2);
    bad("a row beyond the list", trigger, &|f| f.ops[1].row = 2);
    bad("a state that is not there", trigger, &|f| f.ops[1].slot = 2);
    bad("a state to merge that is not there", trigger, &|f| (f.ops[1].what, f.ops[1].from) = (MERGE, 2));
    bad("an operation that is not there", trigger, &|f| f.ops[1].what = CLEAR + 1);
    for (name, read) in [("map", map as Reads), ("assign", assign)] {
        bad(name, read, &|f| f.rows = 1);
        bad(name, read, &|f| f.rows = 3);
    }
    for (name, read) in [("watermark", watermark as Reads), ("tick", tick)] {
        bad(name, read, &|f| f.states = vec![b"", b""]);
        bad(name, read, &|f| {
            f.rows = 1;
            one_state(f)
        });
        bad(name, read, &|f| {
            f.times[1] = None;
            one_state(f)
        });
    }
    bad("a window for a record without a time", assign, &|f| f.times[1] = None);
    // What an operation does not use may be anything.
    let mut f = Frame::new();
    f.ops = [Operation { what: CLEAR, row: 7, from: 7, ..f.ops[0] }; 2];
    assert!(trigger(&f));
}

#[test]
fn calls_of_other_kinds_are_bad() {
    let mut f = Frame::new();
    one_state(&mut f);
    assert!(!f.is_read::<MapOf<Mirror>>(Op::Assign, |_, _| (0, [<super::answers::Every<'static> as Record<'_>>::FIELDS, &[]])));
    assert!(!f.is_read::<AssignerOf<Any>>(Op::Map, |_, _| (0, NONE)));
    assert!(!f.is_read::<WatermarksOf<Any>>(Op::Map, |_, _| (0, NONE)));
    assert!(!f.is_read::<PairOf<Any>>(Op::Trigger, |f, w| (w.plain(&f.pairs), NONE)));
    assert!(!f.is_read::<TriggerOf<Any>>(Op::Pair, |f, w| (w.plain(&f.ops), NONE)));
}
