//! A plug-in: the exact number of different texts in a column.
//!
//! It keeps the texts themselves, so it never guesses, and one accumulator holds at most
//! 1 MiB of them.

use std::collections::BTreeSet;
use tidemark::{put_uvarint, take, take_uvarint, Aggregate, Encode, Refusal, Varying};

tidemark::record! { struct Record<'a> { value: &'a str } }
tidemark::row! { struct Row { distinct: i64 } }

/// The accumulator. Written, it is the number of its members and then each member, its
/// length before it, in ascending order: one set, one sequence of bytes, whatever the
/// order of records and merges.
#[derive(Default)]
struct Set(BTreeSet<Box<[u8]>>);

impl Aggregate for Set {
    const NAME: &'static str = "distinct";
    const VERSION: &'static str = "1.0.0";
    const ORDER_INSENSITIVE: bool = true;
    const EXACT: bool = true;

    type Record = Record<'static>;
    type Row = Row;
    type Params = ();
    type Kept = Varying;

    fn add(&mut self, r: Record, _: &()) -> Result<(), Refusal> {
        let text = r.value.as_bytes();
        if !self.0.contains(text) {
            self.0.insert(text.into());
        }
        Ok(())
    }

    fn merge(&mut self, from: Set, _: &()) -> Result<(), Refusal> {
        let mut from = from;
        self.0.append(&mut from.0);
        Ok(())
    }

    fn result(&self, _: &()) -> Result<Row, Refusal> {
        Ok(Row { distinct: self.0.len() as i64 })
    }
}

impl Encode for Set {
    fn encode(self, to: &mut Vec<u8>) {
        put_uvarint(to, self.0.len() as u64);
        for member in &self.0 {
            put_uvarint(to, member.len() as u64);
            to.extend_from_slice(member);
        }
    }

    fn decode(mut from: &[u8]) -> Result<Set, Refusal> {
        let damaged = || Refusal::from("accumulator is not a set: its bytes are damaged");
        let n = take_uvarint(&mut from).ok_or_else(damaged)?;
        let mut members = Vec::new();
        while !from.is_empty() {
            let len = take_uvarint(&mut from).ok_or_else(damaged)?;
            members.push(take(&mut from, len).ok_or_else(damaged)?.into());
        }
        if members.len() as u64 != n {
            return Err(damaged());
        }
        Ok(Set(members.into_iter().collect())) // quick, since they are in order
    }
}

tidemark::plugin!(Set);

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark::{Acc, Twin};

    fn values<'a>(vs: &[&'a str]) -> Vec<Record<'a>> {
        vs.iter().map(|&value| Record { value }).collect()
    }

    #[test]
    fn counts() {
        let t = Twin::<Set>::new(&[]).unwrap();
        let names: Vec<String> = (0..1000).map(|i| format!("visitor-{:04}", i * 7919 % 1000)).collect();
        let alike: Vec<&str> = names.iter().map(|s| s.as_str()).collect();
        for (vs, want) in [
            (&[][..], 0),
            (&["a"], 1),
            (&["a", "b", "a", "a", "b"], 2),
            (&["", "a", ""], 2), // the empty text is a text
            (&["ab", "abc", "a", "ab\0", "ä"], 5),
            (&alike, 1000),
        ] {
            let acc = t.add(&t.fresh().unwrap(), &values(vs)).unwrap();
            assert_eq!(t.result(&acc).unwrap(), Row { distinct: want });
            t.laws(&values(&vs[..vs.len().min(20)])).unwrap();
        }
    }

    #[test]
    fn a_set_is_one_sequence_of_bytes() {
        let t = Twin::<Set>::new(&[]).unwrap();
        let acc = t.add(&t.fresh().unwrap(), &values(&["b", "", "ab", "b"])).unwrap();
        assert_eq!(acc.0, b"\x03\x00\x02ab\x01b");
    }

    #[test]
    fn more_than_an_accumulator_holds_is_refused() {
        let t = Twin::<Set>::new(&[]).unwrap();
        let texts: Vec<String> = ('a'..='k').map(|c| c.to_string().repeat(100_000)).collect();
        let texts: Vec<&str> = texts.iter().map(|s| s.as_str()).collect();
        let refused = t.add(&t.fresh().unwrap(), &values(&texts)).unwrap_err();
        assert_eq!(refused.message, "accumulator is longer than 1 MiB");
    }

    #[test]
    fn damaged_bytes_are_refused() {
        let t = Twin::<Set>::new(&[]).unwrap();
        for bytes in [&b"\x80"[..], b"\x01\x05ab", b"\x01\xff", b"\x02\x01a"] {
            let refused = t.merge(&Acc(bytes.to_vec()), &Acc(b"\x01\x01a".to_vec())).unwrap_err();
            assert!(refused.message.contains("damaged"), "{}", refused);
        }
    }
}
