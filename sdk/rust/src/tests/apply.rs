//! Many operations in one call, against the same operations on values of Rust.

use super::{numbers, Lawful, Varies};
use crate as tidemark;
use crate::aggregate::AggregateOf;
use crate::apply::{ContentOp, MERGE, RESET, RESULT};
use crate::column::Record;
use crate::frame::{Header, Status, TEXT_BYTES};
use crate::list::Block;
use crate::plugin::{Op, Plugin};
use crate::twin::apply::Agenda;
use crate::*;
use std::cell::Cell;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::mem::size_of;

tidemark::record! {
    struct Every<'a> { i: Option<i64>, f: Option<f64>, b: Option<bool>, s: Option<&'a str>, t: Option<Timestamp> }
}

tidemark::row! {
    struct Seen { hash: i64, mean: Option<f64>, odd: Option<bool>, name: String, last: Option<String>, at: Option<Timestamp> }
}

tidemark::params! { struct Seed { seed: i64 = 7 } }

tidemark::plain! {
    /// Depends on each value and on the order of all; of 36 bytes, so that there is an end
    /// behind it.
    #[repr(packed(4))]
    struct Runs { hash: u64, n: i64, size: u32, at: i64, at_set: u64 }
}

impl Runs {
    fn mix(&mut self, v: u64) {
        self.hash = (self.hash ^ v).wrapping_mul(0x100_0000_01b3).rotate_left(17);
    }
}

impl Aggregate for Runs {
    const NAME: &'static str = "runs";
    const VERSION: &'static str = "1";
    type Record = Every<'static>;
    type Row = Seen;
    type Params = Seed;
    type Kept = Fixed;

    fn fresh(p: &Seed) -> Runs {
        Runs { hash: p.seed as u64, ..Runs::default() }
    }

    fn add(&mut self, r: Every, _: &Seed) -> Result<(), Refusal> {
        self.n += 1;
        self.mix(r.i.map_or(1, |v| v as u64));
        self.mix(r.f.map_or(2, f64::to_bits));
        self.mix(r.b.map_or(3, |v| 4 + u64::from(v)));
        r.s.map_or(&[5, 5, 5][..], str::as_bytes).iter().for_each(|&b| self.mix(b.into()));
        self.mix(r.t.map_or(6, |v| v.0 as u64));
        self.size = r.s.map_or(0, |s| s.len() as u32);
        (self.at, self.at_set) = (r.t.map_or(0, |t| t.0), r.t.is_some().into());
        match r.i == Some(-1) {
            true => Err("i is -1".into()),
            false => Ok(()),
        }
    }

    fn merge(&mut self, from: Runs, _: &Seed) -> Result<(), Refusal> {
        self.mix(from.hash);
        self.n += from.n;
        (self.size, self.at, self.at_set) = (from.size, from.at, from.at_set);
        Ok(())
    }

    fn result(&self, _: &Seed) -> Result<Seen, Refusal> {
        let (n, hash, size) = (self.n, self.hash, self.size as usize);
        Ok(Seen {
            hash: hash as i64,
            mean: (n % 3 > 0).then(|| n as f64 / 7.0),
            odd: (n % 5 > 0).then(|| n % 2 > 0),
            name: "runs".into(),
            last: (size > 0).then(|| "x".repeat(size)),
            at: (self.at_set > 0).then(|| Timestamp(self.at)),
        })
    }
}

/// Random numbers, another sequence in each run.
struct Random(u64);

impl Random {
    fn seeded() -> Random {
        Random(RandomState::new().build_hasher().finish() | 1)
    }

    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 20) as usize % n
    }
}

fn values(r: &Every) -> Vec<Value> {
    <Every<'static> as Record<'_>>::values(r.clone())
}

fn text(s: &str) -> Every<'_> {
    Every { i: None, f: None, b: None, s: Some(s), t: None }
}

fn twin() -> Twin<Runs> {
    Twin::new(&[]).unwrap()
}

fn kept(of: &Runs) -> Acc {
    let mut bytes = unsafe { std::slice::from_raw_parts((of as *const Runs).cast::<u8>(), size_of::<Runs>()) }.to_vec();
    bytes.resize((size_of::<Runs>() + 7) / 8 * 8, 0);
    Acc(bytes)
}

#[test]
fn an_agenda_does_what_its_operations_do() {
    const GROUPS: usize = 70;
    let mut random = Random::seeded();
    let seed = random.0;
    let p = Seed { seed: 7 };
    let texts: Vec<String> = (0..6).map(|n| "é".repeat(n)).collect();
    let records: Vec<Every> = (0..150)
        .map(|n| Every {
            i: (random.below(4) > 0).then(|| n),
            f: (random.below(4) > 0).then(|| n as f64 / 3.0),
            b: (random.below(4) > 0).then(|| random.below(2) > 0),
            s: (random.below(4) > 0).then(|| texts[random.below(6)].as_str()),
            t: (random.below(4) > 0).then(|| Timestamp(-n)),
        })
        .collect();
    let mut now = vec![Runs::fresh(&p); GROUPS];
    let mut agenda = Agenda::new(vec![twin().fresh().unwrap(); GROUPS]);
    let mut open: Vec<usize> = (0..GROUPS).collect(); // a merged accumulator is not named again
    let mut want = Vec::new();
    agenda.records = records.iter().map(values).collect();
    for _ in 0..1500 {
        let acc = open[random.below(open.len())];
        match random.below(8) {
            0 | 1 => {
                agenda.result(acc);
                want.push(now[acc].result(&p).unwrap());
            }
            2 => {
                agenda.reset(acc);
                now[acc] = Runs::fresh(&p);
            }
            3 if open.len() > 9 => {
                let from = open.swap_remove(random.below(open.len()));
                let acc = open[random.below(open.len())];
                agenda.merge(acc, from);
                let from = now[from];
                now[acc].merge(from, &p).unwrap();
            }
            _ => {
                let row = random.below(records.len());
                agenda.again(acc, row);
                now[acc].add(records[row].clone(), &p).unwrap();
            }
        }
    }
    let got = twin().apply(&agenda, None).unwrap();
    let rows: Vec<Seen> = got.rows.into_iter().map(|row| Row::of(row).unwrap()).collect();
    assert_eq!((got.done, rows), (agenda.ops.len(), want), "seed {}", seed);
    for i in open {
        assert_eq!(got.accs[i], kept(&now[i]), "seed {}, accumulator {}", seed, i);
    }
    twin().in_one_call(&records).unwrap();
}

/// What does not fit stops the call at its operation.
#[test]
fn an_agenda_stops_at_a_result_that_does_not_fit() {
    let (long, longer) = ("a".repeat(2500), "b".repeat(2000));
    let mut agenda = Agenda::new(vec![twin().fresh().unwrap()]);
    agenda.record(0, values(&text(&long)));
    agenda.result(0);
    agenda.record(0, values(&text(&longer)));
    agenda.result(0);
    agenda.reset(0);
    let (mut call, _) = twin().agenda(&agenda).unwrap();
    assert_eq!(call.serve(Op::Apply, Some(4096)).unwrap(), Status::OutputFull);
    let h = *call.w.header();
    assert_eq!((h.op, h.done, h.out_used), (3, 3, 4 + 2500));

    let got = twin().apply(&agenda, Some(4096)).unwrap();
    let mut want = Runs::fresh(&Seed { seed: 7 });
    want.add(text(&long), &Seed { seed: 7 }).unwrap();
    let first: Seen = want.result(&Seed { seed: 7 }).unwrap();
    want.add(text(&longer), &Seed { seed: 7 }).unwrap();
    assert_eq!((got.done, got.accs), (3, vec![kept(&want)]));
    assert_eq!(got.rows.into_iter().map(|row| Row::of(row).unwrap()).collect::<Vec<Seen>>(), [first]);

    agenda.ops.truncate(2);
    assert_eq!(twin().apply(&agenda, Some(4 + 2500)).unwrap().done, 2); // to the byte
    assert_eq!(twin().apply(&agenda, Some(4 + 2499)).unwrap().done, 1);
}

#[test]
fn a_refusal_names_its_operation() {
    let mut agenda = Agenda::new(vec![twin().fresh().unwrap(); 2]);
    agenda.record(0, values(&text("a")));
    agenda.result(0);
    agenda.merge(0, 1);
    let mut refused = agenda.clone();
    refused.record(0, values(&Every { i: Some(-1), ..text("") }));
    refused.result(0);
    assert_eq!(twin().apply(&refused, None).err().unwrap(), Refused { op: Some(3), message: "i is -1".into() });
    let mut long = agenda.clone();
    long.record(0, values(&text(&"a".repeat(TEXT_BYTES + 1))));
    long.result(0);
    let message = "the texts of a result row are longer than 1 MiB".into();
    assert_eq!(twin().apply(&long, None).err().unwrap(), Refused { op: Some(4), message });

    let t = Twin::<super::Sorry>::new(&[]).unwrap();
    let mut agenda = Agenda::new(vec![t.fresh().unwrap(); 2]);
    agenda.reset(0);
    agenda.merge(0, 1);
    assert_eq!(t.apply(&agenda, None).err().unwrap(), Refused { op: Some(1), message: "cannot".into() });
}

/// Nothing is carried out of a frame that cannot be.
#[test]
fn agendas_that_no_host_may_write_are_bad() {
    fn serve(op: ContentOp, edit: impl Fn(&mut Header, &mut Block)) -> Status {
        let fresh = twin().fresh().unwrap();
        let mut agenda = Agenda::new(vec![fresh.clone(); 2]);
        agenda.record(0, values(&text("a")));
        agenda.result(0);
        agenda.ops.push(op);
        let (mut call, block) = twin().agenda(&agenda).unwrap();
        let mut b: Block = unsafe { *call.w.arena.as_ptr().cast::<u8>().add(block).cast() };
        edit(call.w.header(), &mut b);
        unsafe { *call.w.arena.as_mut_ptr().cast::<u8>().add(block).cast() = b };
        let acc = call.w.header().acc as usize;
        let status = call.call(Op::Apply, Some(4096));
        if status == Status::BadFrame && acc < 4096 {
            assert_eq!(call.w.read(acc, fresh.0.len()), &fresh.0[..], "{:?}", op);
        }
        status
    }
    let op = |what, acc, arg| ContentOp { what, acc, arg, reserved: 0 };
    let good = op(0, 1, 0);
    assert_eq!(serve(good, |_, _| {}), Status::Ok);
    for bad in
        [op(4, 0, 0), op(u32::MAX, 0, 0), op(0, 2, 0), op(0, 0, 1), op(RESULT, 0, 1), op(RESULT, 2, 0), op(RESET, 2, 0), op(RESET, 0, 1)]
    {
        assert_eq!(serve(bad, |_, _| {}), Status::BadFrame, "{:?}", bad);
    }
    for bad in [op(MERGE, 0, 2), op(MERGE, 2, 0), op(MERGE, 0, u32::MAX), op(MERGE, u32::MAX, 0)] {
        assert_eq!(serve(bad, |_, _| {}), Status::BadFrame, "{:?}", bad);
    }
    let edits: [fn(&mut Header, &mut Block); 15] = [
        |h, _| h.block += 4,
        |h, _| h.block = 1 << 21,
        |_, b| b.items = 1 << 21,
        |_, b| b.items += 4,
        |h, _| h.rows = 1 << 20,
        |h, _| h.acc = 1 << 21,
        |h, _| h.groups = 1 << 20,
        |_, b| b.results = u32::MAX,
        |_, b| b.results = 1 << 19, // more than lie in the frame
        |_, b| b.results = 0,
        |_, b| b.lists[0].rows = u32::MAX,
        |_, b| b.lists[0].rows = 1 << 19,
        |_, b| b.lists[0].cols = 1 << 21,
        |_, b| b.lists[0].ncols += 1,
        |h, _| h.noutcols -= 1,
    ];
    for (i, edit) in edits.into_iter().enumerate() {
        assert_eq!(serve(good, edit), Status::BadFrame, "edit {}", i);
    }
}

#[test]
fn only_accumulators_of_fixed_size_offer_it() {
    assert!(AggregateOf::<Lawful>::manifest().unwrap().ends_with(r#""exact":true,"apply":true}}"#));
    assert!(AggregateOf::<Varies>::manifest().unwrap().ends_with(r#""exact":true}}"#));
    let (mut call, _) = Twin::<Varies>::new(&[]).unwrap().agenda(&Agenda::default()).unwrap();
    assert_eq!(call.call(Op::Apply, None), Status::BadFrame);
}

// ---- The law, broken --------------------------------------------------------------

thread_local! {
    static ASKED: Cell<i64> = Cell::new(0);
}

tidemark::plain! {
    /// Counts what an instance is asked, so that a second result of a call is another one.
    struct Counting { total: i64 }
}

impl Aggregate for Counting {
    const NAME: &'static str = "counting";
    const VERSION: &'static str = "1";
    type Record = super::Number;
    type Row = super::Total;
    type Params = ();
    type Kept = Fixed;
    fn configure(_: &()) -> Result<(), Refusal> {
        ASKED.with(|a| a.set(0));
        Ok(())
    }
    fn add(&mut self, r: super::Number, _: &()) -> Result<(), Refusal> {
        self.total += r.n;
        Ok(())
    }
    fn merge(&mut self, from: Counting, _: &()) -> Result<(), Refusal> {
        self.total += from.total;
        Ok(())
    }
    fn result(&self, _: &()) -> Result<super::Total, Refusal> {
        let asked = ASKED.with(|a| a.replace(a.get() + 1));
        Ok(super::Total { total: self.total + asked })
    }
}

#[test]
fn what_lives_on_between_operations_is_seen() {
    let said = Twin::<Counting>::new(&[]).unwrap().laws(&numbers(&[1, 2, 4])).unwrap_err();
    assert_eq!(said, "in one call: result 1 is [Int64(7)], not [Int64(6)] as by single calls");
}
