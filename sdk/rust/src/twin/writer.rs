//! Frames as a host writes them, each at the start of an arena of its own.

use crate::column::Field;
use crate::frame::{Descriptor, Header, ARENA_BYTES, HAS_VALIDITY, MESSAGE_BYTES};
use crate::list::ListBlock;
use crate::value::{Kind, Timestamp, Value};
use std::mem::size_of;

/// Lays out one frame at the start of an arena of its own.
pub(crate) struct Writer {
    pub arena: Vec<u64>,
    at: usize, // where the next area starts
}

impl Writer {
    pub fn new() -> Writer {
        let mut w = Writer { arena: vec![0; ARENA_BYTES / 8], at: size_of::<Header>() };
        w.header().op = u32::MAX; // none yet
        w
    }

    pub fn header(&mut self) -> &mut Header {
        unsafe { &mut *self.arena.as_mut_ptr().cast() }
    }

    pub fn descriptor(&mut self, off: usize) -> &mut Descriptor {
        assert!(off % 8 == 0 && off + size_of::<Descriptor>() <= ARENA_BYTES);
        unsafe { &mut *self.arena.as_mut_ptr().cast::<u8>().add(off).cast() }
    }

    /// Takes n bytes, which are zero.
    pub fn area(&mut self, n: usize) -> usize {
        let off = self.at;
        self.at = (off + n + 7) & !7;
        assert!(self.at + MESSAGE_BYTES <= ARENA_BYTES, "the records of a test do not fit into the arena");
        off
    }

    /// Takes n bytes whose offset stands in the header.
    pub fn head(&mut self, place: fn(&mut Header) -> &mut u32, n: usize) -> usize {
        let off = self.area(n);
        *place(self.header()) = off as u32;
        off
    }

    pub fn bytes(&mut self, off: usize, bytes: &[u8]) {
        assert!(off + bytes.len() <= ARENA_BYTES);
        let to = unsafe { std::slice::from_raw_parts_mut(self.arena.as_mut_ptr().cast::<u8>(), ARENA_BYTES) };
        to[off..off + bytes.len()].copy_from_slice(bytes);
    }

    pub fn read(&self, off: usize, n: usize) -> &[u8] {
        let all = unsafe { std::slice::from_raw_parts(self.arena.as_ptr().cast::<u8>(), ARENA_BYTES) };
        &all[off..off + n]
    }

    pub fn number(&self, off: usize) -> u32 {
        u32::from_le_bytes(self.read(off, 4).try_into().expect("4 bytes"))
    }

    /// Writes the frame's input columns.
    pub fn columns(&mut self, columns: &[(Kind, bool)], rows: &[Vec<Value>]) {
        let cols = self.described(columns, rows);
        let h = self.header();
        (h.rows, h.ncols, h.cols) = (rows.len() as u32, columns.len() as u32, cols);
    }

    /// Writes columns and gives the offset of their descriptors.
    pub fn described(&mut self, columns: &[(Kind, bool)], rows: &[Vec<Value>]) -> u32 {
        let n = rows.len();
        let cols = self.area(columns.len() * size_of::<Descriptor>());
        for (k, &(kind, nullable)) in columns.iter().enumerate() {
            let mut d = Descriptor { kind: kind as u32, ..Descriptor::default() };
            if nullable {
                d.flags = HAS_VALIDITY;
                d.validity = self.area((n + 63) / 64 * 8) as u32;
            }
            d.data = match kind {
                Kind::Bool => self.area(n),
                Kind::String => self.area(4 * (n + 1)),
                _ => self.area(8 * n),
            } as u32;
            let mut blob = Vec::new();
            for (i, row) in rows.iter().enumerate() {
                let at = d.data as usize;
                match (&row[k], kind) {
                    (Value::Null, _) if nullable => {}
                    (Value::Int64(v), Kind::Int64) => self.bytes(at + 8 * i, &v.to_le_bytes()),
                    (Value::Timestamp(Timestamp(v)), Kind::Timestamp) => self.bytes(at + 8 * i, &v.to_le_bytes()),
                    (Value::Float64(v), Kind::Float64) => self.bytes(at + 8 * i, &v.to_le_bytes()),
                    (Value::Bool(v), Kind::Bool) => self.bytes(at + i, &[u8::from(*v)]),
                    (Value::String(v), Kind::String) => blob.extend_from_slice(v.as_bytes()),
                    (v, kind) => panic!("{:?} is not of type {}", v, kind.name()),
                }
                if kind == Kind::String {
                    self.bytes(at + 4 * (i + 1), &(blob.len() as u32).to_le_bytes());
                }
                if nullable && row[k] != Value::Null {
                    let byte = d.validity as usize + i / 8;
                    let bits = self.read(byte, 1)[0] | 1 << (i % 8);
                    self.bytes(byte, &[bits]);
                }
            }
            d.blob_size = blob.len() as u32;
            d.blob = self.area(blob.len()) as u32;
            self.bytes(d.blob as usize, &blob);
            *self.descriptor(cols + k * size_of::<Descriptor>()) = d;
        }
        cols as u32
    }

    /// Writes pieces of varying size behind their table, and gives its offset.
    pub fn pieces(&mut self, pieces: &[&[u8]]) -> u32 {
        let table = self.area(4 * (pieces.len() + 1));
        let all = pieces.concat();
        let mut end = 0;
        for (i, p) in pieces.iter().enumerate() {
            end += p.len();
            self.bytes(table + 4 * (i + 1), &(end as u32).to_le_bytes());
        }
        let off = self.area(all.len());
        self.bytes(off, &all);
        table as u32
    }

    /// Writes values as they lie in memory, and gives their offset.
    pub fn plain<T: Copy>(&mut self, values: &[T]) -> u32 {
        let off = self.area(std::mem::size_of_val(values));
        let bytes = unsafe { std::slice::from_raw_parts(values.as_ptr().cast::<u8>(), std::mem::size_of_val(values)) };
        self.bytes(off, bytes);
        off as u32
    }

    /// Writes a list of records, whose rows begin with their times.
    pub fn list(&mut self, fields: &[Field], rows: &[Vec<Value>]) -> ListBlock {
        let columns: Vec<(Kind, bool)> =
            std::iter::once((Kind::Timestamp, true)).chain(fields.iter().map(|f| (f.kind, f.nullable))).collect();
        ListBlock { rows: rows.len() as u32, cols: self.described(&columns, rows), ncols: columns.len() as u32 }
    }

    /// Lays out output columns of some rows.
    pub fn outputs(&mut self, kinds: &[Kind], rows: usize) {
        self.header().noutcols = kinds.len() as u32;
        let cols = self.head(|h| &mut h.outcols, kinds.len() * size_of::<Descriptor>());
        for (k, &kind) in kinds.iter().enumerate() {
            let (validity, data) = (self.area((rows + 63) / 64 * 8) as u32, self.area(8 * rows) as u32);
            *self.descriptor(cols + k * size_of::<Descriptor>()) =
                Descriptor { kind: kind as u32, flags: HAS_VALIDITY, validity, data, ..Descriptor::default() };
        }
    }

    /// Reads row i of what was answered.
    pub fn row(&mut self, kinds: &[Kind], i: usize) -> Vec<Value> {
        let h = *self.header();
        let mut row = Vec::new();
        for (k, kind) in kinds.iter().enumerate() {
            let d = *self.descriptor(h.outcols as usize + k * size_of::<Descriptor>());
            let at = d.data as usize + i * if *kind == Kind::Bool { 1 } else { 8 };
            let number = |w: &Writer| u64::from_le_bytes(w.read(at, 8).try_into().expect("8 bytes"));
            row.push(match kind {
                _ if self.read(d.validity as usize + i / 8, 1)[0] >> (i % 8) & 1 == 0 => Value::Null,
                Kind::Int64 => Value::Int64(number(self) as i64),
                Kind::Float64 => Value::Float64(f64::from_bits(number(self))),
                Kind::Timestamp => Value::Timestamp(Timestamp(number(self) as i64)),
                Kind::Bool => Value::Bool(self.read(at, 1)[0] != 0),
                Kind::String => {
                    let (off, n) = (self.number(at) as usize, self.number(at + 4) as usize);
                    Value::String(String::from_utf8(self.read(h.out as usize + off, n).to_vec()).expect("a String is UTF-8"))
                }
            });
        }
        row
    }
}
