//! What the twins of all kinds but aggregates share: items in frames, and what is answered
//! to them.

use crate::answer::HEAD_BYTES;
use crate::column::Field;
use crate::frame::{Status, MESSAGE_BYTES};
use crate::list::Block;
use crate::output::Row;
use crate::plugin::{Op, Plugin};
use crate::twin::writer::Writer;
use crate::twin::{Call, Refused};
use crate::value::{Kind, Timestamp, Value};
use std::fmt::Debug;
use std::ops::Range;

/// An entry of an answer, with the number of its item among all that are shown.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub item: usize,
    pub what: u32,
    pub body: Vec<u8>,
}

/// The items that a twin shows to a plug-in.
pub(crate) trait Items {
    type Plugin: Plugin;
    /// What a host keeps between calls.
    type Kept: Clone + PartialEq + Debug;
    fn op(&self) -> Op;
    fn count(&self) -> usize;
    /// Lays out some of the items in a frame, and gives its block.
    fn lay(&self, w: &mut Writer, of: Range<usize>, kept: &Self::Kept) -> Block;
    /// Takes what the host keeps of an entry.
    fn take(&self, _kept: &mut Self::Kept, _: &Entry) {}
}

/// Shows some items, in one call where the answer has room.
pub(crate) fn show<I: Items>(
    items: &I,
    args: &[Value],
    kept: &mut I::Kept,
    of: Range<usize>,
    room: Option<usize>,
) -> Result<Vec<Entry>, Refused> {
    let mut entries = Vec::new();
    let (mut from, mut roomy) = (of.start, false);
    while from < of.end {
        let mut c = Call::<I::Plugin>::new(args)?;
        let block = items.lay(&mut c.w, from..of.end, kept);
        c.w.header().rows = (of.end - from) as u32;
        c.w.header().block = c.w.plain(&[block]);
        let done = match c.serve(items.op(), if roomy { None } else { room }) {
            Err(e) => return Err(Refused { op: e.op.map(|i| i + from), ..e }),
            Ok(Status::OutputFull) => c.w.header().done as usize,
            Ok(_) => of.end - from,
        };
        for e in answered(&mut c.w, from, from + done) {
            items.take(kept, &e);
            entries.push(e);
        }
        assert!(done > 0 || !roomy && room.is_some(), "what is given for one item does not fit into the arena");
        from += done;
        roomy = done == 0;
    }
    Ok(entries)
}

/// Reads the entries of an answer to the items from, up to, not including, to.
fn answered(w: &mut Writer, from: usize, to: usize) -> Vec<Entry> {
    let h = *w.header();
    let (mut at, end) = (h.out as usize, (h.out + h.out_used) as usize);
    let mut entries: Vec<Entry> = Vec::new();
    while at < end {
        let (item, what, size) = (w.number(at) as usize + from, w.number(at + 4), w.number(at + 8) as usize);
        let body = w.read(at + HEAD_BYTES, size).to_vec();
        assert!(entries.last().map_or(from, |e| e.item) <= item && item < to && at % 8 == 0, "BUG: entries out of order");
        at += HEAD_BYTES + (size + 7) / 8 * 8;
        assert!(w.read(at - (size + 7) / 8 * 8 + size, (8 - size % 8) % 8).iter().all(|&b| b == 0), "BUG: padding that is not zero");
        entries.push(Entry { item, what, body });
    }
    assert_eq!(at, end, "BUG: bytes of answer");
    entries
}

/// Checks that what is answered does not depend on where a host cuts the items into calls,
/// nor on the room that it gives, and that the same call answers the same twice. Each call
/// is one on a fresh instance. The error says what does not hold.
pub(crate) fn laws<I: Items>(items: &I, args: &[Value], kept: &I::Kept) -> Result<(), String> {
    let n = items.count();
    let in_parts = |parts: &[Range<usize>], room| -> Result<_, Refused> {
        let (mut kept, mut entries) = (kept.clone(), Vec::new());
        for part in parts {
            entries.extend(show(items, args, &mut kept, part.clone(), room)?);
        }
        Ok((entries, kept))
    };
    let whole = in_parts(&[0..n], None).map_err(|e| format!("all at once: {}", e))?;
    let same = |what: String, parts: &[Range<usize>], room| match in_parts(parts, room) {
        Err(e) => Err(format!("{}: {}", what, e)),
        Ok(got) if got != whole => Err(format!("{}: answered is {:?}, not {:?} as at once", what, got, whole)),
        Ok(_) => Ok(()),
    };
    same("a second time".into(), &[0..n], None)?;
    for cut in 1..n {
        same(format!("cut at {} of {}", cut, n), &[0..cut, cut..n], None)?;
    }
    let single: Vec<Range<usize>> = (0..n).map(|i| i..i + 1).collect();
    same("one by one".into(), &single, None)?;
    same("in little room".into(), &[0..n], Some(MESSAGE_BYTES))
}

/// Makes a row of the body of its entry.
pub(crate) fn row_of<R: Row>(body: &[u8]) -> R {
    R::of(values_of(body, R::FIELDS)).expect("BUG: a row of other columns")
}

pub(crate) fn values_of(body: &[u8], fields: &[Field]) -> Vec<Value> {
    let word = |i: usize| u64::from_le_bytes(body[8 * i..8 * i + 8].try_into().expect("8 bytes"));
    let value = |(i, f): (usize, &Field)| {
        let v = word(1 + i);
        match f.kind {
            _ if word(0) >> i & 1 == 0 => Value::Null,
            Kind::Int64 => Value::Int64(v as i64),
            Kind::Float64 => Value::Float64(f64::from_bits(v)),
            Kind::Bool => Value::Bool(v != 0),
            Kind::Timestamp => Value::Timestamp(Timestamp(v as i64)),
            Kind::String => {
                let (off, n) = (v as u32 as usize, (v >> 32) as usize);
                Value::String(std::str::from_utf8(&body[off..off + n]).expect("BUG: a text that is not UTF-8").into())
            }
        }
    };
    fields.iter().enumerate().map(value).collect()
}
