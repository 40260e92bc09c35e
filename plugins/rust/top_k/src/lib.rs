//! A plug-in: the k most frequent texts of a column with their counts, the most frequent
//! first and of equally frequent ones the lower, as a JSON list in one text column.
//!
//! Counts are exact: it keeps all different texts, at most 1 MiB of them with their counts
//! in one accumulator.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write;
use tidemark::{put_uvarint, take, take_uvarint, Aggregate, Encode, Refusal, Varying};

tidemark::record! { struct Record<'a> { value: &'a str } }
tidemark::row! { struct Row { top: String } }
tidemark::params! { struct Params { k: i64 = 10 } }

/// The accumulator. Written, it is each different text in ascending order, its length
/// before it and its count behind it.
#[derive(Default)]
struct Table(BTreeMap<String, u64>);

impl Table {
    fn put(&mut self, text: &str, count: u64) {
        match self.0.get_mut(text) {
            Some(n) => *n += count,
            None => {
                self.0.insert(text.into(), count);
            }
        }
    }
}

impl Aggregate for Table {
    const NAME: &'static str = "top_k";
    const VERSION: &'static str = "1.0.0";
    const ORDER_INSENSITIVE: bool = true;
    const EXACT: bool = true;

    type Record = Record<'static>;
    type Row = Row;
    type Params = Params;
    type Kept = Varying;

    fn configure(p: &Params) -> Result<(), Refusal> {
        if p.k < 1 || p.k > 1000 {
            return Err("k is not from 1 to 1000".into());
        }
        Ok(())
    }

    fn add(&mut self, r: Record, _: &Params) -> Result<(), Refusal> {
        self.put(r.value, 1);
        Ok(())
    }

    fn merge(&mut self, from: Table, _: &Params) -> Result<(), Refusal> {
        for (text, count) in &from.0 {
            self.put(text, *count);
        }
        Ok(())
    }

    fn result(&self, p: &Params) -> Result<Row, Refusal> {
        let mut entries: Vec<(&String, &u64)> = self.0.iter().collect();
        entries.sort_by_key(|&(_, count)| Reverse(count)); // equal counts stay in the order of their texts
        let mut top = String::from("[");
        for (i, (text, count)) in entries.into_iter().take(p.k as usize).enumerate() {
            if i > 0 {
                top.push(',');
            }
            top.push_str("{\"value\":");
            put_quoted(&mut top, text);
            let _ = write!(top, ",\"count\":{}}}", count); // a String takes all
        }
        top.push(']');
        Ok(Row { top })
    }
}

/// Writes a text as JSON.
fn put_quoted(to: &mut String, text: &str) {
    to.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => to.extend(['\\', c]),
            c if c < ' ' => {
                let _ = write!(to, "\\u{:04x}", c as u32); // a String takes all
            }
            c => to.push(c),
        }
    }
    to.push('"');
}

impl Encode for Table {
    fn encode(self, to: &mut Vec<u8>) {
        for (text, count) in &self.0 {
            put_uvarint(to, text.len() as u64);
            to.extend_from_slice(text.as_bytes());
            put_uvarint(to, *count);
        }
    }

    fn decode(mut from: &[u8]) -> Result<Table, Refusal> {
        let damaged = || Refusal::from("accumulator is not a table of counts: its bytes are damaged");
        let mut entries = Vec::new();
        while !from.is_empty() {
            let n = take_uvarint(&mut from).ok_or_else(damaged)?;
            let text = take(&mut from, n).ok_or_else(damaged)?;
            let text = String::from_utf8(text.into()).map_err(|_| damaged())?;
            entries.push((text, take_uvarint(&mut from).ok_or_else(damaged)?));
        }
        Ok(Table(entries.into_iter().collect())) // quick, since they are in order
    }
}

tidemark::plugin!(Table);

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark::{Acc, Twin};

    fn values<'a>(vs: &[&'a str]) -> Vec<Record<'a>> {
        vs.iter().map(|&value| Record { value }).collect()
    }

    #[test]
    fn results() {
        for (k, vs, want) in [
            (10, &[][..], "[]"),
            (10, &["b", "a", "b"], r#"[{"value":"b","count":2},{"value":"a","count":1}]"#),
            (2, &["c", "b", "a"], r#"[{"value":"a","count":1},{"value":"b","count":1}]"#),
            (1000, &["a\"\\\n\u{1f}ä"], r#"[{"value":"a\"\\\u000a\u001fä","count":1}]"#),
            (1, &["k", "j", "k", "j", "k"], r#"[{"value":"k","count":3}]"#),
        ] {
            let t = Twin::<Table>::new(&[("k", k.into())]).unwrap();
            let acc = t.add(&t.fresh().unwrap(), &values(vs)).unwrap();
            assert_eq!(t.result(&acc).unwrap(), Row { top: want.into() });
            t.laws(&values(vs)).unwrap();
        }
    }

    #[test]
    fn k_is_bounded() {
        for k in [0, 1001] {
            let refused = Twin::<Table>::new(&[("k", k.into())]).err().unwrap();
            assert_eq!((refused.op, refused.message.as_str()), (None, "k is not from 1 to 1000"));
        }
    }

    #[test]
    fn a_table_is_one_sequence_of_bytes() {
        let t = Twin::<Table>::new(&[]).unwrap();
        let acc = t.add(&t.fresh().unwrap(), &values(&["b", "a", "b"])).unwrap();
        assert_eq!(acc.0, b"\x01a\x01\x01b\x02");
        for bytes in [&b"\x80"[..], b"\x05a", b"\x01a", b"\x01a\x80"] {
            assert!(t.merge(&acc, &Acc(bytes.to_vec())).unwrap_err().message.contains("damaged"));
        }
    }
}
