//! What all kinds but aggregates answer: rows, side outputs, states, and what does not fit.

use crate as tidemark;
use crate::answer::{KEY_STATE, WINDOW_STATE};
use crate::frame::Status;
use crate::map::MapOf;
use crate::plugin::Op;
use crate::process::ProcessOf;
use crate::twin::items::{laws, show, Entry, Items};
use crate::twin::writer::Writer;
use crate::twin::{Call, Shown};
use crate::*;
use std::cell::Cell;
use std::ops::Range;

// ---- A function of single records that answers what it reads -----------------------

tidemark::record! {
    pub struct Every<'a> {
        i: Option<i64>,
        f: Option<f64>,
        b: Option<bool>,
        s: Option<&'a str>,
        t: Option<Timestamp>,
    }
}

tidemark::row! {
    pub struct Same<'a> { i: Option<i64>, f: Option<f64>, b: Option<bool>, s: Option<&'a str>, own: Option<String>, t: Option<Timestamp> }
}

pub struct Mirror;

impl Map for Mirror {
    const NAME: &'static str = "mirror";
    const VERSION: &'static str = "1";
    type Record = Every<'static>;
    type Row = Same<'static>;
    type Params = ();
    fn map(m: &Mapped<Self>, _: &()) -> Result<(), Refusal> {
        let r = &m.record;
        m.emit(Same { i: r.i, f: r.f, b: r.b, s: r.s, own: r.s.map(String::from), t: m.time });
        Ok(())
    }
}

tidemark::plugin!(Mirror: Map);

#[test]
fn every_kind_of_value_comes_back_in_a_row() {
    let shown = [
        Timed::at(-1, Every { i: Some(i64::MIN), f: Some(-0.0), b: Some(true), s: Some("ä"), t: None }),
        Timed::never(Every { i: None, f: None, b: None, s: None, t: None }),
        Timed::at(7, Every { i: Some(0), f: None, b: Some(false), s: Some(""), t: Some(Timestamp(3)) }),
    ];
    let t = MapTwin::<Mirror>::new(&[]).unwrap();
    let got = t.show(&shown).unwrap();
    for (r, rows) in shown.iter().zip(&got) {
        let e = &r.record;
        assert_eq!(*rows, [Same { i: e.i, f: e.f, b: e.b, s: e.s, own: e.s.map(String::from), t: r.time }]);
        assert_eq!(rows[0].f.map(f64::to_bits), e.f.map(f64::to_bits));
    }
    t.laws(&shown).unwrap();
}

/// The bytes of section 3, by hand.
#[test]
fn a_row_lies_as_the_specification_says() {
    let lay = |w: &mut Writer| {
        let kinds = <Every<'static> as Record<'_>>::FIELDS;
        let null = Value::Null;
        let row = vec![Value::Timestamp(Timestamp(9)), Value::Int64(-2), null.clone(), Value::Bool(true), Value::from("äb"), null];
        let mut b = tidemark::list::Block::default();
        b.lists[0] = w.list(kinds, &[row]);
        b
    };
    let shown = Once::<MapOf<Mirror>>::new(Op::Map, &lay);
    let got = show(&shown, &[], &mut (), 0..1, None).unwrap();
    let mut body = Vec::new();
    let cells = [0b111101u64, -2i64 as u64, 0, 1, 56 | 3 << 32, 59 | 3 << 32, 9];
    cells.iter().for_each(|c| body.extend(c.to_le_bytes()));
    body.extend_from_slice("äbäb".as_bytes());
    assert_eq!(got, [Entry { item: 0, what: 0, body }]);
}

/// One item that a test lays out by hand.
struct Once<'a, P> {
    op: Op,
    lay: &'a dyn Fn(&mut Writer) -> tidemark::list::Block,
    plugin: std::marker::PhantomData<P>,
}

impl<'a, P> Once<'a, P> {
    fn new(op: Op, lay: &'a dyn Fn(&mut Writer) -> tidemark::list::Block) -> Once<'a, P> {
        Once { op, lay, plugin: std::marker::PhantomData }
    }
}

impl<'a, P: crate::plugin::Plugin> Items for Once<'a, P> {
    type Plugin = P;
    type Kept = ();
    fn op(&self) -> Op {
        self.op
    }
    fn count(&self) -> usize {
        1
    }
    fn lay(&self, w: &mut Writer, _: Range<usize>, _: &()) -> tidemark::list::Block {
        (self.lay)(w)
    }
}

// ---- A process function with all that there is --------------------------------------

tidemark::record! { pub struct Fields<'a> { n: i64, text: &'a str } }
tidemark::record! { pub struct Left { l: i64 } }
tidemark::record! { pub struct Right<'a> { r: Option<&'a str> } }
tidemark::row! { pub struct Sum<'a> { before: i64, sum: i64, text: &'a str, left: i64, rights: Option<String> } }
tidemark::row! { pub struct Odd { n: i64 } }
tidemark::row! { pub struct Seen<'a> { text: &'a str, r#in: Timestamp } }
tidemark::sides! { pub enum Further<'a> { odd(Odd), r#type(Seen<'a>) } }
tidemark::plain! { pub struct Total { sum: i64 } }

/// Adds up n for each key, and remembers the text of each window.
pub struct Busy;

impl Process for Busy {
    const NAME: &'static str = "busy";
    const VERSION: &'static str = "1";
    const SCHEMA: u32 = 3;
    type Inputs = Fields<'static>;
    type Records = CoGroup<Left, Right<'static>>;
    type Row = Sum<'static>;
    type Side = Further<'static>;
    type Params = ();
    type KeyState = Total;
    type WindowState = Bytes;

    fn process(f: &mut Firing<Self>, _: &()) -> Result<(), Refusal> {
        let n = f.inputs.n;
        if n < 0 {
            return Err("below 0".into());
        }
        let before = f.key.get().map_or(-1, |t| t.sum);
        let sum = before.max(0) + n;
        f.key.set(Total { sum: -7 });
        f.key.set(Total { sum }); // the last one counts
        let left = f.records.left.iter().map(|t| t.record.l).sum();
        let rights: Vec<&str> = f.records.right.into_iter().filter_map(|t| t.record.r).collect();
        f.emit(Sum { before, sum, text: f.inputs.text, left, rights: Some(rights.concat()).filter(|s| !s.is_empty()) });
        if n % 2 == 1 {
            f.side(Further::odd(Odd { n }));
        }
        if !f.window.get().is_empty() {
            let text = String::from_utf8(f.window.get().to_vec()).unwrap();
            f.side(Further::r#type(Seen { text: &text, r#in: f.start }));
        }
        f.window.set(f.inputs.text.as_bytes());
        if sum > 100 {
            f.key.clear();
        }
        Ok(())
    }
}

tidemark::plugin!(Busy: Process);

pub fn fired(key: &str, n: i64, text: &'static str) -> Fired<'static, Busy> {
    let key: &'static str = Box::leak(key.to_string().into_boxed_str());
    let lefts = vec![Timed::at(1, Left { l: n }), Timed::never(Left { l: 1000 })];
    Fired::new(key, 0, 60, Fields { n, text }, (lefts, vec![Timed::at(1, Right { r: Some(text) }), Timed::at(2, Right { r: None })]))
}

fn sum(before: i64, sum: i64, n: i64, text: &'static str) -> Sum<'static> {
    Sum { before, sum, text, left: 1000 + n, rights: Some(text.to_string()).filter(|t| !t.is_empty()) }
}

fn seen(text: &'static str) -> Further<'static> {
    Further::r#type(Seen { text, r#in: Timestamp(0) })
}

#[test]
fn later_firings_see_the_states_that_earlier_ones_left() {
    let mut t = ProcessTwin::<Busy>::new(&[]).unwrap();
    let frame =
        [fired("a", 1, "x"), fired("b", 2, ""), fired("a", 98, "long text"), fired("b", 3, "y"), fired("a", 4, "z"), fired("a", 5, "")];
    t.laws(&frame).unwrap();
    let given = t.fire(&frame).unwrap();
    let rows =
        [sum(-1, 1, 1, "x"), sum(-1, 2, 2, ""), sum(1, 99, 98, "long text"), sum(2, 5, 3, "y"), sum(99, 103, 4, "z"), sum(-1, 5, 5, "")];
    assert_eq!(given.rows, rows);
    let side =
        [Further::odd(Odd { n: 1 }), seen("x"), Further::odd(Odd { n: 3 }), seen("long text"), Further::odd(Odd { n: 5 }), seen("z")];
    assert_eq!(given.side, side);
    assert_eq!((t.key_state("a"), t.key_state("b")), (&5i64.to_le_bytes()[..], &5i64.to_le_bytes()[..]));
    assert_eq!((t.window_state("a", 0, 60), t.window_state("b", 0, 60)), (&b""[..], &b"y"[..]));

    // A refusal leaves nothing.
    let refused = t.fire(&[fired("a", 1, "n"), fired("b", -1, "n")]).err().unwrap();
    assert_eq!(refused, Refused { op: Some(1), message: "below 0".into() });
    assert_eq!(t.key_state("a"), 5i64.to_le_bytes());
    t.expire("a");
    t.clean("b", 0, 60);
    assert_eq!(t.fire(&[fired("a", 1, "n"), fired("b", 1, "n")]).unwrap().rows, [sum(-1, 1, 1, "n"), sum(5, 6, 1, "n")]);
}

/// Whatever the room: what is complete is answered, and nothing is written behind it.
#[test]
fn an_answer_ends_where_its_room_ends() {
    let firings = [fired("a", 1, "x"), fired("a", 102, "of 17 bytes, this"), fired("b", 3, ""), fired("b", 99, "ä"), fired("b", 1, "")];
    let frame = |c: &mut Call<ProcessOf<Busy>>| {
        let block = Shown::new(&firings).lay(&mut c.w, 0..firings.len(), &Default::default());
        c.w.header().rows = firings.len() as u32;
        c.w.header().block = c.w.plain(&[block]);
    };
    let mut c = Call::new(&[]).unwrap();
    frame(&mut c);
    assert_eq!(c.serve(Op::Process, None).unwrap(), Status::Ok);
    let h = *c.w.header();
    let all = c.w.read(h.out as usize, h.out_used as usize).to_vec();
    // Where the entries of each firing end.
    let mut ends = vec![0; firings.len()];
    let mut at = 0;
    let mut states = 0;
    while at < all.len() {
        let word = |i: usize| u32::from_le_bytes(all[at + 4 * i..at + 4 * i + 4].try_into().unwrap());
        let (item, what, size) = (word(0) as usize, word(1), word(2) as usize);
        states += (what == KEY_STATE || what == WINDOW_STATE) as usize;
        at += 16 + (size + 7) / 8 * 8;
        ends[item] = at;
    }
    assert_eq!((at, states), (all.len(), 2 * firings.len()));
    for room in 0..=all.len() + 9 {
        let mut c = Call::new(&[]).unwrap();
        frame(&mut c);
        let behind = c.w.area(0) + room;
        c.w.bytes(behind, &[0xaa; 64]);
        let status = c.serve(Op::Process, Some(room)).unwrap();
        let complete = ends.iter().filter(|&&end| end <= room).count();
        let h = *c.w.header();
        let want = match complete == firings.len() {
            true => (Status::Ok, 0),
            false => (Status::OutputFull, complete as u32),
        };
        assert_eq!((status, h.done), want, "room {}", room);
        let used = if complete > 0 { ends[complete - 1] } else { 0 };
        assert_eq!(c.w.read(h.out as usize, h.out_used as usize), &all[..used], "room {}", room);
        assert_eq!(c.w.read(behind, 64), [0xaa; 64], "room {}", room);
    }
}

// ---- Limits and mistakes -------------------------------------------------------------

tidemark::row! { struct Texts<'a> { a: &'a str, b: &'a str } }

struct Long;

impl Map for Long {
    const NAME: &'static str = "long";
    const VERSION: &'static str = "1";
    type Record = Left;
    type Row = Texts<'static>;
    type Params = ();
    fn map(m: &Mapped<Self>, _: &()) -> Result<(), Refusal> {
        let text = "x".repeat(m.record.l as usize);
        m.emit(Texts { a: &text, b: &text });
        Ok(())
    }
}

#[test]
fn the_texts_of_a_row_are_bounded() {
    let t = MapTwin::<Long>::new(&[]).unwrap();
    let half = (1 << 20) / 2;
    let shown = |l| [Timed::at(0, Left { l: 1 }), Timed::at(0, Left { l })];
    assert_eq!(t.show(&shown(half)).unwrap()[1][0].b.len(), half as usize);
    let refused = t.show(&shown(half + 1)).unwrap_err();
    assert_eq!(refused, Refused { op: Some(1), message: "the texts of a result row are longer than 1 MiB".into() });
    t.laws(&[shown(half), shown(3), shown(half)].concat()).unwrap(); // more than one call has room for
}

struct Keeper;

impl Watermarks for Keeper {
    const NAME: &'static str = "keeper";
    const VERSION: &'static str = "1";
    type Record = Left;
    type Params = ();
    type State = Bytes;
    fn record(s: &mut Slot<Bytes>, _: Timestamp, r: Left, _: &()) -> Result<Option<Timestamp>, Refusal> {
        let bytes = vec![1; r.l as usize];
        s.set(&bytes);
        assert_eq!(s.get(), bytes);
        Ok(None)
    }
    fn tick(s: &mut Slot<Bytes>, now: Timestamp, _: &()) -> Result<Option<Timestamp>, Refusal> {
        let n = s.get().len() as i64;
        s.clear();
        Ok(Some(Timestamp(now.0 + n)))
    }
}

#[test]
fn a_state_is_bounded() {
    let mut t = WatermarksTwin::<Keeper>::new(&[]).unwrap();
    let shown = |l| [Timed::at(0, Left { l })];
    assert_eq!(t.show(&shown(1 << 20)).unwrap(), [None]);
    assert_eq!(t.tick(5).unwrap(), Some(Timestamp(5 + (1 << 20))));
    assert_eq!(t.state(), b"");
    assert_eq!(t.tick(5).unwrap(), Some(Timestamp(5)));
    let panic = std::panic::catch_unwind(move || t.show(&shown((1 << 20) + 1)).is_ok()).unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"tidemark: a state is longer than 1 MiB"));
}

/// A state of another size, of an older layout say, is none.
#[test]
fn a_state_of_another_size_is_none() {
    tidemark::plain! { struct Pair { a: i64, b: i64 } }
    thread_local!(static FOUND: Cell<Option<Pair>> = Cell::new(None));
    struct Reads;
    impl Watermarks for Reads {
        const NAME: &'static str = "reads";
        const VERSION: &'static str = "1";
        type Record = ();
        type Params = ();
        type State = Pair;
        fn record(s: &mut Slot<Pair>, _: Timestamp, _: (), _: &()) -> Result<Option<Timestamp>, Refusal> {
            FOUND.with(|f| f.set(s.get()));
            Ok(None)
        }
    }
    for (bytes, want) in [(&[7u8; 16][..], Some(Pair { a: 0x0707070707070707, b: 0x0707070707070707 })), (&[7; 15], None), (&[], None)] {
        let lay = |w: &mut Writer| {
            let mut b = tidemark::list::Block::default();
            b.lists[0] = w.list(&[], &[vec![Value::Timestamp(Timestamp(1))]]);
            (b.keys, b.nkeys) = (w.pieces(&[bytes]), 1);
            b
        };
        let shown = Once::<crate::watermark::WatermarksOf<Reads>>::new(Op::Watermark, &lay);
        assert_eq!(show(&shown, &[], &mut (), 0..1, None).unwrap(), []);
        assert_eq!(FOUND.with(|f| f.get()), want);
    }
}

// ---- Laws, broken in one way each ----------------------------------------------------

thread_local!(static SHOWN: Cell<i64> = Cell::new(0));

macro_rules! counts {
    ($name:ident, |$before:ident| $n:expr) => {
        struct $name;
        impl Map for $name {
            const NAME: &'static str = "counts";
            const VERSION: &'static str = "1";
            type Record = ();
            type Row = Odd;
            type Params = ();
            fn map(m: &Mapped<Self>, _: &()) -> Result<(), Refusal> {
                let $before = SHOWN.with(|s| s.replace(s.get() + 1));
                m.emit(Odd { n: $n });
                Ok(())
            }
        }
    };
}

counts!(Forgets, |before| 0 * before);
counts!(Counts, |before| before);

#[test]
fn laws_of_calls_are_seen_to_be_broken() {
    let records = [Timed::at(0, ()), Timed::at(1, ()), Timed::at(2, ())];
    MapTwin::<Forgets>::new(&[]).unwrap().laws(&records).unwrap();
    let broken = MapTwin::<Counts>::new(&[]).unwrap().laws(&records).unwrap_err();
    assert!(broken.starts_with("a second time: answered is "), "{}", broken);

    /// Answers how many items the call has left, which depends on the cut.
    struct Cut;
    impl Items for Cut {
        type Plugin = MapOf<Mirror>;
        type Kept = ();
        fn op(&self) -> Op {
            Op::Map
        }
        fn count(&self) -> usize {
            3
        }
        fn lay(&self, w: &mut Writer, of: Range<usize>, _: &()) -> tidemark::list::Block {
            let null = Value::Null;
            let row = |_| vec![null.clone(), Value::Int64(of.len() as i64), null.clone(), null.clone(), null.clone(), null.clone()];
            let mut b = tidemark::list::Block::default();
            b.lists[0] = w.list(<Every<'static> as Record<'_>>::FIELDS, &of.clone().map(row).collect::<Vec<_>>());
            b
        }
    }
    let broken = laws(&Cut, &[], &()).unwrap_err();
    assert!(broken.starts_with("cut at 1 of 3: answered is "), "{}", broken);
}
