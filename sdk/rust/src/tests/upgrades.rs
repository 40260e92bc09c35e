//! Upgrades: of plain and of varying accumulators, and of states of every kind.

use super::answers::Busy;
use crate as tidemark;
use crate::aggregate::AggregateOf;
use crate::frame::Status;
use crate::manifest::Manifest;
use crate::plugin::{Op, Plugin};
use crate::process::ProcessOf;
use crate::trigger::TriggerOf;
use crate::twin::upgrade::{answered, states};
use crate::twin::writer::Writer;
use crate::watermark::WatermarksOf;
use crate::*;

tidemark::row! { struct Out { n: i64, upgraded: i64 } }

// ---- Accumulators of a fixed size, which were narrower and wider -----------------------

tidemark::plain! { struct First { n: i32 } } // 8 bytes in the host's keeping
tidemark::plain! { struct Second { unused: i64, n: i64, more: i64 } }
tidemark::plain! { struct Third { upgraded: i32, unused: i32, n: i32 } } // 16 bytes

impl TryFrom<First> for Third {
    type Error = Refusal;
    fn try_from(old: First) -> Result<Third, Refusal> {
        match old.n < 0 {
            true => Err(format!("a count is {}", old.n).into()),
            false => Ok(Third { upgraded: 1, unused: 0, n: old.n }),
        }
    }
}

impl TryFrom<Second> for Third {
    type Error = Refusal;
    fn try_from(old: Second) -> Result<Third, Refusal> {
        Ok(Third { upgraded: 2, unused: 0, n: (old.n + old.more) as i32 })
    }
}

impl Aggregate for Third {
    const NAME: &'static str = "third";
    const VERSION: &'static str = "3";
    const SCHEMA: u32 = 3;
    const UPGRADES: &'static [Upgrade] = &[Upgrade::plain::<First, Third>(1), Upgrade::plain::<Second, Third>(2)];
    type Record = ();
    type Row = Out;
    type Params = ();
    type Kept = Fixed;
    fn add(&mut self, _: (), _: &()) -> Result<(), Refusal> {
        self.n += 1;
        Ok(())
    }
    fn merge(&mut self, from: Third, _: &()) -> Result<(), Refusal> {
        self.n += from.n;
        self.upgraded += from.upgraded;
        Ok(())
    }
    fn result(&self, _: &()) -> Result<Out, Refusal> {
        Ok(Out { n: self.n.into(), upgraded: self.upgraded.into() })
    }
}

#[test]
fn accumulators_of_a_fixed_size_are_upgraded() {
    let twin = Twin::<Third>::new(&[]).unwrap();
    let first = twin.upgrade(1, &[41, 0, 0, 0, 0, 0, 0, 0]).unwrap();
    assert_eq!(first.0, [1, 0, 0, 0, 0, 0, 0, 0, 41, 0, 0, 0, 0, 0, 0, 0]);
    let second: Vec<u8> = [9i64, 4, 5].iter().flat_map(|n| n.to_le_bytes()).collect();
    let both = twin.merge(&twin.upgrade(2, &second).unwrap(), &first).unwrap();
    assert_eq!(twin.result(&twin.add(&both, &[()]).unwrap()).unwrap(), Out { n: 51, upgraded: 3 }); // as those of today

    for (schema, old, want) in [
        (1, &(-1i64).to_le_bytes()[..], "a count is -1"),
        (1, &[1, 0, 0, 0], "a state of an older schema has another size than its type"),
        (3, &[0; 16], "the host asks for an upgrade that the plug-in does not have"),
    ] {
        assert_eq!(twin.upgrade(schema, old).unwrap_err(), Refused { op: Some(0), message: want.into() });
    }
}

// ---- What varies in size ----------------------------------------------------------------

/// Doubles the bytes, behind what they are of; a refusal for none, and nothing for "-".
fn twice(what: KeptOf, old: &[u8]) -> Result<Vec<u8>, Refusal> {
    match old {
        [] => Err("nothing was kept".into()),
        [b'-'] => Ok(Vec::new()),
        _ => Ok([&[b'0' + what as u8], old, old].concat()),
    }
}

#[derive(Default)]
struct Any;

impl Aggregate for Any {
    const NAME: &'static str = "any";
    const VERSION: &'static str = "5";
    const SCHEMA: u32 = 5;
    const UPGRADES: &'static [Upgrade] = &[Upgrade::bytes(4, twice)];
    type Record = ();
    type Row = Out;
    type Params = ();
    type Kept = Varying;
    fn add(&mut self, _: (), _: &()) -> Result<(), Refusal> {
        Ok(())
    }
    fn merge(&mut self, _: Any, _: &()) -> Result<(), Refusal> {
        Ok(())
    }
    fn result(&self, _: &()) -> Result<Out, Refusal> {
        Ok(Out { n: 0, upgraded: 0 })
    }
}

impl Encode for Any {
    fn encode(self, _: &mut Vec<u8>) {}
    fn decode(_: &[u8]) -> Result<Any, Refusal> {
        Ok(Any)
    }
}

tidemark::plain! { struct Old { n: i32 } }
tidemark::plain! { struct New { n: i32, was: i32, more: i32 } }

impl TryFrom<Old> for New {
    type Error = Refusal;
    fn try_from(old: Old) -> Result<New, Refusal> {
        Ok(New { n: 1, was: old.n, more: 2 })
    }
}

impl Process for Any {
    const NAME: &'static str = "any";
    const VERSION: &'static str = "5";
    const SCHEMA: u32 = 5;
    const UPGRADES: &'static [Upgrade] = &[Upgrade::bytes(4, twice), Upgrade::plain::<Old, New>(2)];
    type Inputs = ();
    type Records = ();
    type Row = Out;
    type Side = ();
    type Params = ();
    type KeyState = Bytes;
    type WindowState = New;
    fn process(_: &mut Firing<Self>, _: &()) -> Result<(), Refusal> {
        Ok(())
    }
}

impl Trigger for Any {
    const NAME: &'static str = "any";
    const VERSION: &'static str = "5";
    const SCHEMA: u32 = 5;
    const UPGRADES: &'static [Upgrade] = &[Upgrade::bytes(4, twice)];
    type Record = ();
    type Params = ();
    type State = Bytes;
    fn element(_: &mut Pane<Self>, _: Option<Timestamp>, _: (), _: &()) -> Result<Verdict, Refusal> {
        Ok(Verdict::Continue)
    }
}

impl Watermarks for Any {
    const NAME: &'static str = "any";
    const VERSION: &'static str = "5";
    const SCHEMA: u32 = 5;
    const UPGRADES: &'static [Upgrade] = &[Upgrade::bytes(4, twice)];
    type Record = ();
    type Params = ();
    type State = Bytes;
    fn record(_: &mut Slot<Bytes>, _: Timestamp, _: (), _: &()) -> Result<Option<Timestamp>, Refusal> {
        Ok(None)
    }
}

#[test]
fn what_varies_in_size_is_upgraded() {
    let (aggregate, process) = (Twin::<Any>::new(&[]).unwrap(), ProcessTwin::<Any>::new(&[]).unwrap());
    let (trigger, watermarks) = (TriggerTwin::<Any>::new(&[]).unwrap(), WatermarksTwin::<Any>::new(&[]).unwrap());
    assert_eq!(aggregate.upgrade(4, b"ab").unwrap().0, b"0abab");
    assert_eq!(aggregate.upgrade(4, b"-").unwrap().0, b"");
    assert_eq!(process.upgrade(4, KeptOf::Key, b"ab").unwrap(), b"1abab");
    assert_eq!(process.upgrade(4, KeptOf::Window, b"ab").unwrap(), b"2abab");
    assert_eq!(process.upgrade(2, KeptOf::Window, &[7, 0, 0, 0]).unwrap(), [1, 0, 0, 0, 7, 0, 0, 0, 2, 0, 0, 0]);
    assert_eq!(trigger.upgrade(4, b"ab").unwrap(), b"2abab");
    assert_eq!(watermarks.upgrade(4, b"ab").unwrap(), b"3abab");
    for refused in [
        aggregate.upgrade(4, b"").unwrap_err(),
        process.upgrade(4, KeptOf::Key, b"").unwrap_err(),
        trigger.upgrade(4, b"").unwrap_err(),
        watermarks.upgrade(4, b"").unwrap_err(),
    ] {
        assert_eq!(refused, Refused { op: Some(0), message: "nothing was kept".into() });
    }
}

#[test]
#[should_panic(expected = "a state becomes empty")]
fn a_state_does_not_become_empty() {
    let _ = ProcessTwin::<Any>::new(&[]).unwrap().upgrade(4, KeptOf::Key, b"-");
}

// ---- Frames -----------------------------------------------------------------------------

/// Changes a byte of the table of states.
fn offset(w: &mut Writer, byte: usize, to: u8) {
    let table = w.header().acc as usize;
    w.bytes(table + byte, &[to])
}

#[test]
fn upgrades_are_answered_as_far_as_they_fit() {
    let three: [&[u8]; 3] = [b"abc", b"d", b"ef"];
    let call = |edit: &dyn Fn(&mut Writer), room| {
        let mut c = states::<AggregateOf<Any>>(&[], 4, KeptOf::Key as u32, &three).unwrap();
        edit(&mut c.w);
        let status = c.call(Op::Upgrade, room);
        (status, c)
    };
    // 7, 3 and 5 bytes, each behind its length and padded to 4.
    let (status, mut c) = call(&|_| {}, Some(32));
    assert_eq!((status, c.w.header().op, c.w.header().out_used), (Status::Ok, 2, 32));
    assert_eq!(answered(&mut c, 3), [&b"1abcabc"[..], b"1dd", b"1efef"]);
    let (status, mut c) = call(&|_| {}, Some(31));
    assert_eq!((status, c.w.header().done), (Status::OutputFull, 2));
    assert_eq!(answered(&mut c, 2), [&b"1abcabc"[..], b"1dd"]);
    let (status, mut c) = call(&|_| {}, Some(11));
    assert_eq!((status, c.w.header().done, c.w.header().out_used), (Status::OutputFull, 0, 0));

    let (status, mut c) = call(&|w| offset(w, 4, 0), None); // the first has no bytes
    assert_eq!((status, c.w.header().op), (Status::Refused, 0));
    for (i, edit) in [
        &(|w: &mut Writer| w.header().block = u32::MAX - 7) as &dyn Fn(&mut Writer),
        &|w| w.header().block += 4,
        &|w| w.header().acc = 4 << 20,
        &|w| w.header().acc += 4,
        &|w| w.header().groups = 1 << 20,
        &|w| offset(w, 4, 5),  // offsets that go backwards
        &|w| offset(w, 15, 9), // and out of the frame
        &|w| {
            let block = w.header().block as usize;
            w.bytes(block + 4, &[4]) // of nothing that is kept
        },
    ]
    .iter()
    .enumerate()
    {
        assert_eq!(call(edit, None).0, Status::BadFrame, "edit {}", i);
    }
    let mut c = states::<ProcessOf<Busy>>(&[], 1, KeptOf::Key as u32, &three).unwrap(); // which has no upgrades
    assert_eq!(c.call(Op::Upgrade, None), Status::BadFrame);
}

// ---- Declarations -----------------------------------------------------------------------

#[test]
fn upgrades_are_declared() {
    for (m, want) in [
        (
            AggregateOf::<Third>::manifest(),
            r#""accumulator":{"width":16,"schema":3,"upgrades":[{"schema":1,"width":8},{"schema":2,"width":24}]}"#,
        ),
        (AggregateOf::<Any>::manifest(), r#""accumulator":{"width":0,"schema":5,"upgrades":[{"schema":4,"width":0}]}"#),
        (ProcessOf::<Any>::manifest(), r#""state":{"key":true,"window":true,"schema":5,"upgrades":[{"schema":4},{"schema":2}]}"#),
        (TriggerOf::<Any>::manifest(), r#""state":{"schema":5,"upgrades":[{"schema":4}]}"#),
        (WatermarksOf::<Any>::manifest(), r#""state":{"schema":5,"upgrades":[{"schema":4}]}"#),
    ] {
        let m = m.unwrap();
        assert!(m.contains(want), "{}", m);
    }
    let new = || Manifest::new("process", "a", "1");
    let bytes = |schema| Upgrade::bytes(schema, twice);
    let plain = |schema| Upgrade::plain::<Old, New>(schema);
    let many: Vec<Upgrade> = (1..=65).map(bytes).collect();
    for (m, want) in [
        (new().state(true, 1, &[bytes(1)]), "an upgrade is from schema 1, which must be at least 1 and below 1"),
        (new().state(true, 2, &[bytes(0)]), "an upgrade is from schema 0, which must be at least 1 and below 2"),
        (new().states(true, false, 3, &[bytes(1), plain(1)]), "there are two upgrades from schema 1"),
        (new().accumulator(8, 2, &[bytes(1)]), "the upgrade from schema 1 mixes accumulators of fixed and of varying size"),
        (new().accumulator(0, 3, &[bytes(1), plain(2)]), "the upgrade from schema 2 mixes accumulators of fixed and of varying size"),
        (new().states(false, false, 2, &[bytes(1)]), "nothing is kept, and there are UPGRADES"),
        (new().state(false, 2, &[bytes(1)]), "nothing is kept, and there are UPGRADES"),
        (new().state(true, 99, &many), "there are 65 UPGRADES, at most 64 are allowed"),
    ] {
        assert_eq!(m.done().unwrap_err(), want);
    }
    assert!(new().state(true, 99, &many[..64]).done().is_ok());
}
