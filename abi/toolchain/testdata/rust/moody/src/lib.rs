//! A plug-in for tests: what it does with a record is what the record says.

use std::mem::ManuallyDrop;
use tidemark::{Aggregate, Encode, Refusal, Varying};

tidemark::record! { struct Record<'a> { mood: &'a str } }
tidemark::row! { struct Row { length: i64 } }

#[derive(Default)]
struct Moods(Vec<u8>);

/// A value that the compiler knows nothing of.
fn unseen<T>(v: T) -> T {
    unsafe { std::ptr::read_volatile(&*ManuallyDrop::new(v)) }
}

#[allow(unconditional_recursion)]
fn deep(n: u64) -> u64 {
    let piece = unseen([n; 8]);
    deep(unseen(n + 1)) + piece[0]
}

impl Aggregate for Moods {
    const NAME: &'static str = "moody";
    const VERSION: &'static str = "1";
    type Record = Record<'static>;
    type Row = Row;
    type Params = ();
    type Kept = Varying;

    fn add(&mut self, r: Record, _: &()) -> Result<(), Refusal> {
        let mut hoard = Vec::new();
        match r.mood {
            "error" => return Err("in no mood for this".into()),
            "panic" => panic!("a fit of temper"),
            "deep" => self.0.push(deep(1) as u8),
            "hoard" => loop {
                hoard.push(unseen(vec![1u8; 1 << 20]));
            },
            _ => hoard.push(unseen(vec![1u8; 64 << 10])),
        }
        self.0.extend_from_slice(r.mood.as_bytes());
        Ok(())
    }

    fn merge(&mut self, from: Moods, _: &()) -> Result<(), Refusal> {
        self.0.extend_from_slice(&from.0);
        Ok(())
    }

    fn result(&self, _: &()) -> Result<Row, Refusal> {
        Ok(Row { length: self.0.len() as i64 })
    }
}

impl Encode for Moods {
    fn encode(self, to: &mut Vec<u8>) {
        to.extend_from_slice(&self.0);
    }
    fn decode(from: &[u8]) -> Result<Moods, Refusal> {
        Ok(Moods(from.into()))
    }
}

tidemark::plugin!(Moods);
