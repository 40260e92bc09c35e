//! Tests of the SDK itself, by its twin.

mod answers;
mod apply;
mod frames;
mod manifests;
mod upgrades;

use crate as tidemark; // the macros' examples read as in a plug-in
use crate::aggregate::AggregateOf;
use crate::frame::{Descriptor, Header, Status, ARENA_BYTES};
use crate::manifest::{check_names, quoted, valid_name};
use crate::plugin::{Instance, Op, Plugin};
use crate::*;

// ---- An aggregate that answers what it has read last ------------------------------

tidemark::record! {
    struct Every<'a> {
        i: Option<i64>,
        f: Option<f64>,
        b: Option<bool>,
        s: Option<&'a str>,
        t: Option<Timestamp>,
    }
}

tidemark::row! {
    struct Last { i: Option<i64>, f: Option<f64>, b: Option<bool>, s: Option<String>, t: Option<Timestamp> }
}

tidemark::params! {
    struct Args {
        i: i64 = i64::MIN,
        f: f64 = 1.5e-3,
        b: bool = true,
        s: String = String::from("a\n\"\\"),
        needed: String,
        spare: Option<i64>,
        r#type: Option<bool>,
    }
}

struct Echo(Last);

impl Default for Echo {
    fn default() -> Echo {
        Echo(Last { i: None, f: None, b: None, s: None, t: None })
    }
}

impl Aggregate for Echo {
    const NAME: &'static str = "echo";
    const VERSION: &'static str = "\"1\"\n";
    const SCHEMA: u32 = 7;
    type Record = Every<'static>;
    type Row = Last;
    type Params = Args;
    type Kept = Varying;

    fn configure(p: &Args) -> Result<(), Refusal> {
        let seen = (p.i, p.f, p.b, p.s.as_str(), p.needed.as_str(), p.spare, p.r#type);
        match seen == (i64::MIN, 1.5e-3, true, "a\n\"\\", "yes", None, None) {
            true => Ok(()),
            false => Err(format!("got {:?}", seen).into()),
        }
    }

    fn add(&mut self, r: Every, _: &Args) -> Result<(), Refusal> {
        self.0 = Last { i: r.i, f: r.f, b: r.b, s: r.s.map(String::from), t: r.t };
        Ok(())
    }

    fn merge(&mut self, from: Echo, _: &Args) -> Result<(), Refusal> {
        *self = from;
        Ok(())
    }

    fn result(&self, _: &Args) -> Result<Last, Refusal> {
        Ok(self.0.clone())
    }
}

impl Encode for Echo {
    fn encode(self, to: &mut Vec<u8>) {
        let l = self.0;
        to.push(
            l.i.is_some() as u8
                | (l.f.is_some() as u8) << 1
                | (l.b.is_some() as u8) << 2
                | (l.s.is_some() as u8) << 3
                | (l.t.is_some() as u8) << 4,
        );
        to.extend(l.i.unwrap_or(0).to_le_bytes());
        to.extend(l.f.unwrap_or(0.0).to_bits().to_le_bytes());
        to.push(l.b.unwrap_or(false) as u8);
        to.extend(l.t.map_or(0, |t| t.0).to_le_bytes());
        to.extend(l.s.unwrap_or_default().into_bytes());
    }

    fn decode(mut from: &[u8]) -> Result<Echo, Refusal> {
        let has = take(&mut from, 1).ok_or("damaged")?[0];
        let number =
            |from: &mut &[u8]| -> Result<u64, Refusal> { Ok(u64::from_le_bytes(take(from, 8).ok_or("damaged")?.try_into().unwrap())) };
        let (i, f) = (number(&mut from)? as i64, f64::from_bits(number(&mut from)?));
        let b = take(&mut from, 1).ok_or("damaged")?[0] != 0;
        let t = Timestamp(number(&mut from)? as i64);
        let s = String::from_utf8(from.to_vec()).map_err(|_| "damaged")?;
        let some = |bit: u8| has & bit != 0;
        Ok(Echo(Last {
            i: some(1).then(|| i),
            f: some(2).then(|| f),
            b: some(4).then(|| b),
            s: some(8).then(|| s),
            t: some(16).then(|| t),
        }))
    }
}

#[test]
fn every_kind_of_value_arrives_and_comes_back() {
    let rows = [
        Every { i: Some(i64::MIN), f: Some(-0.0), b: Some(true), s: Some("ä"), t: Some(Timestamp(-1)) },
        Every { i: None, f: None, b: None, s: None, t: None },
        Every { i: Some(0), f: None, b: Some(false), s: Some(""), t: None },
    ];
    let t = Twin::<Echo>::new(&[("needed", "yes".into())]).unwrap();
    for k in 0..3 {
        // Behind another record: rows and bitmaps have an order.
        let both = [rows[(k + 1) % 3].clone(), rows[k].clone()];
        let got = t.result(&t.add(&t.fresh().unwrap(), &both).unwrap()).unwrap();
        let r = &rows[k];
        assert_eq!(got, Last { i: r.i, f: r.f, b: r.b, s: r.s.map(String::from), t: r.t });
        assert_eq!(got.f.map(f64::to_bits), r.f.map(f64::to_bits));
    }
    let refused = t.result(&Acc(b"\x01".to_vec())).unwrap_err();
    assert_eq!((refused.op, refused.message.as_str()), (Some(0), "damaged"));
}

#[test]
fn the_manifest_says_what_is_declared() {
    let want = concat!(
        r#"{"name":"echo","version":"\"1\"\u000a","sdk":"rust","aggregate":{"inputs":["#,
        r#"{"name":"i","type":"int64","nullable":true},{"name":"f","type":"float64","nullable":true},"#,
        r#"{"name":"b","type":"bool","nullable":true},{"name":"s","type":"string","nullable":true},"#,
        r#"{"name":"t","type":"timestamp","nullable":true}],"outputs":[{"name":"i","type":"int64"},"#,
        r#"{"name":"f","type":"float64"},{"name":"b","type":"bool"},{"name":"s","type":"string"},"#,
        r#"{"name":"t","type":"timestamp"}],"params":[{"name":"i","type":"int64","default":-9223372036854775808},"#,
        r#"{"name":"f","type":"float64","default":0.0015},{"name":"b","type":"bool","default":true},"#,
        r#"{"name":"s","type":"string","default":"a\u000a\"\\"},{"name":"needed","type":"string","required":true},"#,
        r#"{"name":"spare","type":"int64"},{"name":"type","type":"bool"}],"accumulator":{"width":0,"schema":7},"#,
        r#""order_insensitive":false,"exact":false}}"#
    );
    assert_eq!(AggregateOf::<Echo>::manifest().unwrap(), want);
}

#[test]
fn arguments_are_checked() {
    let refused = Twin::<Echo>::new(&[("needed", "no".into())]).err().unwrap();
    assert_eq!((refused.op, refused.message.starts_with("got ")), (None, true));
    for (args, why) in [
        (&[][..], "param needed is required"),
        (&[("neded", "yes".into())], "argument neded is not declared"),
        (&[("needed", 1i64.into())], "Int64(1) is not of type string"),
    ] {
        let panic = std::panic::catch_unwind(|| Twin::<Echo>::new(args).is_ok()).unwrap_err();
        assert_eq!(panic.downcast_ref::<String>().unwrap(), why);
    }
}

// ---- Declarations that are wrong ---------------------------------------------------

#[test]
fn names_have_a_rule() {
    for (name, good) in [("a", true), ("a_1", true), ("a-b", false), ("", false), ("1a", false), ("_a", false), ("aB", false), ("ä", false)]
    {
        assert_eq!(valid_name(name, "_"), good, "{}", name);
    }
    assert!(valid_name(&"a".repeat(63), "_") && !valid_name(&"a".repeat(64), "_"));
    assert!(check_names("input", ["r#type"].into_iter()).is_ok());
    let many: Vec<String> = (0..65).map(|i| format!("c{}", i)).collect();
    assert!(check_names("input", many[..64].iter().map(|s| s.as_str())).is_ok());
    assert_eq!(check_names("input", many.iter().map(|s| s.as_str())).unwrap_err(), "there are 65 inputs, at most 64 are allowed");
    assert_eq!(quoted("a\"\\\n\u{1f}ä"), "\"a\\\"\\\\\\u000a\\u001fä\"");
}

// ---- Laws, broken in one way each --------------------------------------------------

tidemark::record! { struct Number { n: i64 } }
tidemark::row! { struct Total { total: i64 } }
tidemark::params! { #[allow(dead_code)] struct Infinite { limit: f64 = f64::INFINITY } }

macro_rules! sums {
    ($($name:ident, $text:expr, $order:expr, $exact:expr, $kept:ty, $params:ty,
       add |$acc:ident, $n:ident| $add:expr, merge |$into:ident, $from:ident| $merge:expr;)*) => {$(
        tidemark::plain! { struct $name { total: i64, n: i64 } }
        impl Aggregate for $name {
            const NAME: &'static str = $text;
            const VERSION: &'static str = "1";
            const ORDER_INSENSITIVE: bool = $order;
            const EXACT: bool = $exact;
            type Record = Number;
            type Row = Total;
            type Params = $params;
            type Kept = $kept;
            fn add(&mut self, r: Number, _: &$params) -> Result<(), Refusal> {
                let ($acc, $n) = (self, r.n);
                $add
            }
            fn merge(&mut self, $from: $name, _: &$params) -> Result<(), Refusal> {
                let $into = self;
                $merge
            }
            fn result(&self, _: &$params) -> Result<Total, Refusal> {
                Ok(Total { total: self.total })
            }
        }
        impl Encode for $name {
            fn encode(self, to: &mut Vec<u8>) {
                if self.n > 0 {
                    to.extend(self.total.to_le_bytes());
                    to.extend(self.n.to_le_bytes());
                }
            }
            fn decode(from: &[u8]) -> Result<$name, Refusal> {
                let bytes: [u8; 16] = from.try_into().map_err(|_| "damaged")?;
                let all = u128::from_le_bytes(bytes);
                Ok($name { total: all as i64, n: (all >> 64) as i64 })
            }
        }
    )*};
}

fn plus(total: &mut i64, n: &mut i64, more: i64, count: i64) -> Result<(), Refusal> {
    if more < 0 {
        return Err("negative".into());
    }
    *total += more;
    *n += count;
    Ok(())
}

sums! {
    Lawful, "lawful", true, true, Fixed, (),
        add |a, n| plus(&mut a.total, &mut a.n, n, 1), merge |a, b| plus(&mut a.total, &mut a.n, b.total, b.n);
    Varies, "varies", true, true, Varying, (),
        add |a, n| plus(&mut a.total, &mut a.n, n, 1), merge |a, b| plus(&mut a.total, &mut a.n, b.total, b.n);
    Forgetful, "forgetful", true, true, Fixed, (),
        add |a, n| plus(&mut a.total, &mut a.n, n, 1), merge |a, b| { *a = b; Ok(()) };
    First, "first", true, true, Fixed, (),
        add |a, n| { if a.n == 0 { a.total = n } a.n += 1; Ok(()) },
        merge |a, b| { if a.n == 0 { a.total = b.total } a.n += b.n; Ok(()) };
    Ordered, "ordered", false, true, Fixed, (),
        add |a, n| { if a.n == 0 { a.total = n } a.n += 1; Ok(()) },
        merge |a, b| { if a.n == 0 { a.total = b.total } a.n += b.n; Ok(()) };
    Sorry, "sorry", true, true, Fixed, (),
        add |a, n| plus(&mut a.total, &mut a.n, n, 1), merge |_a, _b| Err("cannot".into());
    Loud, "Loud", true, true, Fixed, (), add |_a, _n| Ok(()), merge |_a, _b| Ok(());
    Endless, "endless", true, true, Fixed, Infinite, add |_a, _n| Ok(()), merge |_a, _b| Ok(());
}

fn numbers(ns: &[i64]) -> Vec<Number> {
    ns.iter().map(|&n| Number { n }).collect()
}

fn laws_of<A: Aggregate<Record = Number>>() -> String {
    Twin::<A>::new(&[]).unwrap().laws(&numbers(&[1, 2, 4])).err().unwrap_or_default()
}

#[test]
fn laws_are_seen_to_be_broken() {
    assert_eq!(laws_of::<Lawful>(), "");
    assert_eq!(laws_of::<Varies>(), "");
    assert_eq!(laws_of::<Ordered>(), "");
    for (got, want) in [
        (laws_of::<Forgetful>(), "merged at record 0 of 3, the parts exchanged: "),
        (laws_of::<First>(), "the parts exchanged: "),
        (laws_of::<Sorry>(), "merged at record 0 of 3: cannot"),
    ] {
        assert!(got.contains(want), "got {:?}, want {:?}", got, want);
    }
}

#[test]
fn mistakes_of_a_declaration_are_named() {
    assert_eq!(AggregateOf::<Loud>::manifest().unwrap_err(), "aggregate \"Loud\": a name matches [a-z][a-z0-9_-]{0,62}");
    assert_eq!(AggregateOf::<Endless>::manifest().unwrap_err(), "param \"limit\": a default must be finite");
}

#[test]
fn a_refusal_names_its_record() {
    let t = Twin::<Lawful>::new(&[]).unwrap();
    let refused = t.add(&t.fresh().unwrap(), &numbers(&[1, -1, 4])).unwrap_err();
    assert_eq!(refused, Refused { op: Some(1), message: "negative".into() });
    let t = Twin::<Varies>::new(&[]).unwrap();
    let refused = t.add(&t.fresh().unwrap(), &numbers(&[1, 2, -4])).unwrap_err();
    assert_eq!(refused, Refused { op: Some(2), message: "negative".into() });
    assert_eq!(t.result(&Acc(b"short".to_vec())).unwrap_err(), Refused { op: Some(0), message: "damaged".into() });
}

// ---- Frames ------------------------------------------------------------------------

/// Calls add on a frame of one record and 8 KiB, after edits. The words of the arena are
/// of 8 bytes: the column's descriptor at 12, the group at 16, the accumulator at 17, the
/// data at 20.
fn add<A: Aggregate>(edit: fn(&mut Header, &mut Descriptor, &mut [u64])) -> (Status, Header) {
    let mut arena = vec![0u64; ARENA_BYTES / 8];
    let mut i = Instance::<AggregateOf<A>>::new();
    let at = arena.as_mut_ptr();
    unsafe {
        *at.cast() = Header { size: 8192, rows: 1, out: 4096, out_cap: 4096, ..Header::default() };
        assert_eq!(i.call(Op::Configure, at.cast(), 0), Status::Ok);
    }
    let mut h =
        Header { size: 8192, rows: 1, groups: 1, cols: 96, ncols: 1, group: 128, acc: 136, out: 4096, out_cap: 4096, ..Header::default() };
    let mut d = Descriptor { kind: A::Record::FIELDS[0].kind as u32, data: 160, ..Descriptor::default() };
    arena.fill(0);
    edit(&mut h, &mut d, &mut arena);
    let at = arena.as_mut_ptr();
    unsafe {
        *at.cast() = h;
        *at.add(12).cast() = d;
        let status = i.call(Op::Add, at.cast(), 0);
        (status, *at.cast())
    }
}

#[test]
fn frames_that_no_host_may_write_are_bad() {
    assert_eq!(add::<Lawful>(|_, _, _| {}).0, Status::Ok);
    let edits: [fn(&mut Header, &mut Descriptor, &mut [u64]); 13] = [
        |h, _, _| h.size = ARENA_BYTES as u32 + 8,
        |h, _, _| h.size = 8,
        |h, _, _| h.rows = u32::MAX,
        |h, _, _| h.rows = 2000,
        |h, _, _| h.groups = u32::MAX,
        |h, _, _| h.ncols = 2,
        |h, _, _| h.cols = 97,
        |h, _, _| h.group = 8192,
        |_, _, words| words[16] = 1, // group 1 of 1
        |h, _, _| h.acc = 8184,
        |h, _, _| h.out_cap = 4104,
        |_, d, _| d.kind = 2,
        |_, d, _| d.data = 8188,
    ];
    for (i, edit) in edits.into_iter().enumerate() {
        assert_eq!(add::<Lawful>(edit).0, Status::BadFrame, "edit {}", i);
    }
    let mut arena = vec![0u64; ARENA_BYTES / 8];
    for at in [4, ARENA_BYTES, usize::MAX - 7] {
        let status = unsafe { Instance::<AggregateOf<Lawful>>::new().call(Op::Add, arena.as_mut_ptr().cast(), at) };
        assert_eq!(status, Status::BadFrame);
    }
    let unconfigured = unsafe {
        *arena.as_mut_ptr().cast() = Header { size: 8192, out: 4096, out_cap: 4096, ..Header::default() };
        Instance::<AggregateOf<Lawful>>::new().call(Op::Create, arena.as_mut_ptr().cast(), 0)
    };
    assert_eq!(unconfigured, Status::BadFrame);
}

tidemark::record! { struct Text<'a> { text: &'a str } }

#[derive(Default)]
struct Length(u64);

impl Aggregate for Length {
    const NAME: &'static str = "length";
    const VERSION: &'static str = "1";
    type Record = Text<'static>;
    type Row = Total;
    type Params = ();
    type Kept = Varying;
    fn add(&mut self, r: Text, _: &()) -> Result<(), Refusal> {
        self.0 += r.text.len() as u64;
        Ok(())
    }
    fn merge(&mut self, from: Length, _: &()) -> Result<(), Refusal> {
        self.0 += from.0;
        Ok(())
    }
    fn result(&self, _: &()) -> Result<Total, Refusal> {
        Ok(Total { total: self.0 as i64 })
    }
}

impl Encode for Length {
    fn encode(self, to: &mut Vec<u8>) {
        to.extend([self.0; 2].map(u64::to_le_bytes).concat());
    }
    fn decode(from: &[u8]) -> Result<Length, Refusal> {
        Ok(Length(u64::from_le_bytes(from[..8].try_into().map_err(|_| "damaged")?)))
    }
}

/// Texts whose offsets go backwards would reach out of the frame.
#[test]
fn texts_lie_within_their_blob() {
    fn texts(h: &mut Header, d: &mut Descriptor, words: &mut [u64], off: [u32; 3]) {
        h.rows = 2;
        d.blob = 176;
        d.blob_size = 8;
        words[20] = u64::from(off[0]) | u64::from(off[1]) << 32;
        words[21] = u64::from(off[2]);
    }
    assert_eq!(add::<Length>(|h, d, w| texts(h, d, w, [0, 4, 8])).0, Status::Ok);
    assert_eq!(add::<Length>(|h, d, w| texts(h, d, w, [0, 4, 9])).0, Status::BadFrame);
    assert_eq!(add::<Length>(|h, d, w| texts(h, d, w, [0, 5, 4])).0, Status::BadFrame);
    assert_eq!(add::<Length>(|h, d, w| texts(h, d, w, [9, 4, 4])).0, Status::BadFrame);
}

/// Answers that do not fit come in parts.
#[test]
fn a_full_output_area_is_said() {
    let (status, h) = add::<Length>(|h, d, words| {
        h.rows = 0;
        h.groups = 3;
        h.out_cap = 50; // each answer takes 4 + 16 bytes of it
        d.blob = 176;
        words[20] = 0;
    });
    assert_eq!((status, h.done, h.out_used), (Status::OutputFull, 2, 40));
}

// ---- Helpers -----------------------------------------------------------------------

#[test]
fn numbers_are_written_and_read() {
    let all = [0, 127, 128, 300, u64::MAX];
    let mut bytes = Vec::new();
    for v in all {
        put_uvarint(&mut bytes, v);
    }
    assert_eq!(bytes[..6], [0, 0x7f, 0x80, 1, 0xac, 2]);
    let mut left = &bytes[..];
    for v in all {
        assert_eq!(take_uvarint(&mut left), Some(v));
    }
    assert_eq!((take_uvarint(&mut left), take(&mut left, 1)), (None, None));
    assert_eq!(take_uvarint(&mut &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2][..]), None);
    assert_eq!(take(&mut &b"abc"[..], u64::MAX), None);
    assert_eq!(take(&mut &b"abc"[..], 2), Some(&b"ab"[..]));
}
