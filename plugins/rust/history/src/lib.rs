//! A plug-in: how many texts there were, and which was the last. It keeps all of them, in
//! order, and shows how accumulators that vary in size are upgraded.

use tidemark::{put_uvarint, take, take_uvarint, Aggregate, Encode, KeptOf, Refusal, Upgrade, Varying};

tidemark::record! { struct Record<'a> { value: &'a str } }
tidemark::row! { struct Row { count: i64, last: Option<String> } }

/// The accumulator. Written, schema 2, it is each text behind its length.
#[derive(Default)]
struct List(Vec<u8>);

fn put(to: &mut Vec<u8>, text: &[u8]) {
    put_uvarint(to, text.len() as u64);
    to.extend_from_slice(text);
}

/// Schema 1 ended each text with a line feed.
fn from_lines(_: KeptOf, mut old: &[u8]) -> Result<Vec<u8>, Refusal> {
    let mut now = Vec::new();
    while !old.is_empty() {
        let end = old.iter().position(|&b| b == b'\n').ok_or("a text does not end")?;
        put(&mut now, &old[..end]);
        old = &old[end + 1..];
    }
    Ok(now)
}

impl Aggregate for List {
    const NAME: &'static str = "history";
    const VERSION: &'static str = "2.0.0";
    const SCHEMA: u32 = 2;
    const UPGRADES: &'static [Upgrade] = &[Upgrade::bytes(1, from_lines)];
    const EXACT: bool = true;

    type Record = Record<'static>;
    type Row = Row;
    type Params = ();
    type Kept = Varying;

    fn add(&mut self, r: Record, _: &()) -> Result<(), Refusal> {
        put(&mut self.0, r.value.as_bytes());
        Ok(())
    }

    fn merge(&mut self, from: List, _: &()) -> Result<(), Refusal> {
        self.0.extend(from.0);
        Ok(())
    }

    fn result(&self, _: &()) -> Result<Row, Refusal> {
        let damaged = || Refusal::from("accumulator is not a list: its bytes are damaged");
        let (mut left, mut count, mut last) = (&self.0[..], 0, None);
        while !left.is_empty() {
            let size = take_uvarint(&mut left).ok_or_else(damaged)?;
            last = Some(take(&mut left, size).ok_or_else(damaged)?);
            count += 1;
        }
        let last = last.map(|text| String::from_utf8(text.to_vec()).map_err(|_| damaged())).transpose()?;
        Ok(Row { count, last })
    }
}

impl Encode for List {
    fn encode(self, to: &mut Vec<u8>) {
        to.extend(self.0);
    }

    fn decode(from: &[u8]) -> Result<List, Refusal> {
        Ok(List(from.to_vec()))
    }
}

tidemark::plugin!(List);

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark::{Acc, Twin};

    #[test]
    fn older_accumulators_go_on() {
        let t = Twin::<List>::new(&[]).unwrap();
        assert_eq!(t.upgrade(1, b"a\n\nbc\n").unwrap().0, b"\x01a\x00\x02bc");
        assert_eq!(t.upgrade(1, b"").unwrap().0, b"");
        assert_eq!(t.upgrade(1, b"a\nb").unwrap_err().message, "a text does not end");
        let acc = t.add(&t.upgrade(1, b"a\nb\n").unwrap(), &[Record { value: "c" }]).unwrap();
        assert_eq!(t.result(&acc).unwrap(), Row { count: 3, last: Some("c".into()) });
        assert_eq!(t.result(&t.fresh().unwrap()).unwrap(), Row { count: 0, last: None });
        assert_eq!(t.result(&Acc(b"\x05a".to_vec())).unwrap_err().message, "accumulator is not a list: its bytes are damaged");
        t.laws(&[Record { value: "x" }, Record { value: "" }, Record { value: "ä" }]).unwrap();
    }
}
