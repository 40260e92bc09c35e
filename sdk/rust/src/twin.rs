//! The twin of raw.rs: in place of the exports that a host calls there is a host in
//! miniature, which writes the same frames and serves the calls by the same code, each as
//! on a fresh instance.

use crate::aggregate::{Aggregate, Instance, Kept, Op};
use crate::column::Record;
use crate::frame::{Descriptor, Header, Status, ARENA_BYTES, HAS_VALIDITY, MESSAGE_BYTES};
use crate::manifest::{manifest, plain_name};
use crate::output::Row;
use crate::param::Params;
use crate::value::{Kind, Timestamp, Value};
use std::marker::PhantomData;
use std::mem::size_of;

/// Nothing is to be exported outside of a module.
#[macro_export]
macro_rules! plugin {
    ($aggregate:ty) => {
        const _: fn() = || {
            fn registered<A: $crate::Aggregate>() {}
            registered::<$aggregate>()
        };
    };
}

/// Drives an aggregate in tests as a host does.
pub struct Twin<A: Aggregate> {
    args: Vec<Value>,
    aggregate: PhantomData<fn(A)>,
}

/// An accumulator as a host keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acc(pub Vec<u8>);

/// What a host shows to the job's owner when the aggregate refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The record, or for merge and result the accumulator.
    pub op: Option<usize>,
    pub message: String,
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Refused {}

impl<A: Aggregate> Twin<A> {
    /// Configures the aggregate with a job's arguments, by the parameters' names. Panics
    /// where the declaration is wrong or the arguments do not fit it, which no host lets
    /// happen.
    pub fn new(args: &[(&str, Value)]) -> Result<Twin<A>, Refused> {
        if let Err(problem) = manifest::<A>() {
            panic!("tidemark: {}", problem);
        }
        let declared = A::Params::declared();
        for (name, _) in args {
            assert!(declared.iter().any(|d| plain_name(d.name) == *name), "argument {} is not declared", name);
        }
        let mut values = Vec::new();
        for d in &declared {
            let given = args.iter().find(|(name, _)| plain_name(d.name) == *name).map(|(_, v)| v.clone());
            let v = given.unwrap_or_else(|| d.default.clone());
            assert!(!d.required || v != Value::Null, "param {} is required", d.name);
            values.push(v);
        }
        let twin = Twin { args: values, aggregate: PhantomData };
        Call::<A>::new(&twin.args)?;
        Ok(twin)
    }

    /// Gives an accumulator of no records.
    pub fn fresh(&self) -> Result<Acc, Refused> {
        let mut c = Call::<A>::new(&self.args)?;
        if A::Kept::WIDTH > 0 {
            c.w.head(|h| &mut h.acc, A::Kept::WIDTH);
        }
        c.serve(Op::Create)?;
        Ok(c.answered())
    }

    /// Folds records into an accumulator and gives the new one.
    pub fn add<'a>(&self, acc: &Acc, records: &[<A::Record as Record<'a>>::Of]) -> Result<Acc, Refused> {
        let mut c = Call::<A>::new(&self.args)?;
        let rows: Vec<Vec<Value>> = records.iter().map(|r| <A::Record as Record<'a>>::values(r.clone())).collect();
        let fields = <A::Record as Record<'a>>::FIELDS;
        let columns: Vec<(Kind, bool)> = fields.iter().map(|f| (f.kind, f.nullable)).collect();
        c.w.columns(&columns, &rows);
        c.w.head(|h| &mut h.group, 4 * rows.len());
        if A::Kept::WIDTH > 0 {
            c.acc(|h| &mut h.acc, acc);
        }
        c.serve(Op::Add)?;
        let added = c.answered();
        if A::Kept::WIDTH > 0 {
            return Ok(added);
        }
        self.merge(acc, &added)
    }

    /// Gives the accumulator of the records behind acc and then those behind from.
    pub fn merge(&self, acc: &Acc, from: &Acc) -> Result<Acc, Refused> {
        let mut c = Call::<A>::new(&self.args)?;
        c.acc(|h| &mut h.acc, acc);
        c.acc(|h| &mut h.from, from);
        c.serve(Op::Merge)?;
        Ok(c.answered())
    }

    /// Gives the result row of an accumulator.
    pub fn result(&self, acc: &Acc) -> Result<A::Row, Refused> {
        let (values, _) = self.values(acc)?;
        Ok(A::Row::of(values).expect("BUG: a column that must have a value has none"))
    }

    /// Gives the result row as values, and what became of the accumulator.
    pub(crate) fn values(&self, acc: &Acc) -> Result<(Vec<Value>, Acc), Refused> {
        let mut c = Call::<A>::new(&self.args)?;
        c.acc(|h| &mut h.acc, acc);
        let kinds: Vec<Kind> = A::Row::FIELDS.iter().map(|f| f.kind).collect();
        c.w.outputs(&kinds);
        c.serve(Op::Result)?;
        let after = if A::Kept::WIDTH > 0 { c.answered() } else { acc.clone() };
        Ok((c.w.row(&kinds), after))
    }
}

/// One call on a fresh instance.
struct Call<A: Aggregate> {
    w: Writer,
    instance: Instance<A>,
}

impl<A: Aggregate> Call<A> {
    /// Configures an instance, and begins the next frame, of one group.
    fn new(args: &[Value]) -> Result<Call<A>, Refused> {
        let mut c = Call { w: Writer::new(), instance: Instance::new() };
        let kinds: Vec<(Kind, bool)> = A::Params::declared().iter().map(|d| (d.kind, true)).collect();
        c.w.columns(&kinds, &[args.to_vec()]);
        c.serve(Op::Configure)?;
        c.w = Writer::new();
        c.w.header().groups = 1;
        Ok(c)
    }

    fn acc(&mut self, place: fn(&mut Header) -> &mut u32, acc: &Acc) {
        if A::Kept::WIDTH > 0 {
            assert_eq!(acc.0.len(), A::Kept::WIDTH, "an accumulator of another length");
            let off = self.w.head(place, acc.0.len());
            self.w.bytes(off, &acc.0);
            return;
        }
        let table = self.w.head(place, 8);
        self.w.bytes(table + 4, &(acc.0.len() as u32).to_le_bytes());
        let off = self.w.area(acc.0.len());
        self.w.bytes(off, &acc.0);
    }

    /// Gives what is left of the arena to the answer and calls.
    fn serve(&mut self, op: Op) -> Result<(), Refused> {
        let out = self.w.area(0);
        let (outcols, noutcols) = (self.w.header().outcols as usize, self.w.header().noutcols as usize);
        let h = self.w.header();
        h.out = out as u32;
        h.out_cap = (ARENA_BYTES - out) as u32;
        h.size = ARENA_BYTES as u32;
        for i in 0..noutcols {
            let d = self.w.descriptor(outcols + i * size_of::<Descriptor>());
            d.blob = out as u32;
            d.blob_size = (ARENA_BYTES - out) as u32;
        }
        // The arena is this call's own.
        match unsafe { self.instance.call(op, self.w.arena.as_mut_ptr().cast(), 0) } {
            Status::Ok => Ok(()),
            Status::Refused => {
                let h = *self.w.header();
                let message = self.w.read(out, h.out_used as usize).to_vec();
                Err(Refused {
                    op: (h.op != u32::MAX).then(|| h.op as usize),
                    message: String::from_utf8(message).expect("BUG: a message that is not UTF-8"),
                })
            }
            Status::OutputFull => panic!("the answer does not fit into the arena"),
            Status::BadFrame => panic!("BUG: the frame could not be read"),
        }
    }

    /// Reads the accumulator that a call has answered.
    fn answered(&mut self) -> Acc {
        let h = *self.w.header();
        if A::Kept::WIDTH > 0 {
            return Acc(self.w.read(h.acc as usize, A::Kept::WIDTH).to_vec());
        }
        let n = self.w.number(h.out as usize) as usize;
        assert_eq!(h.out_used as usize, 4 + (n + 3) / 4 * 4, "BUG: bytes of answer");
        Acc(self.w.read(h.out as usize + 4, n).to_vec())
    }
}

/// Lays out one frame at the start of an arena of its own.
struct Writer {
    arena: Vec<u64>,
    at: usize, // where the next area starts
}

impl Writer {
    fn new() -> Writer {
        let mut w = Writer { arena: vec![0; ARENA_BYTES / 8], at: size_of::<Header>() };
        w.header().op = u32::MAX; // none yet
        w
    }

    fn header(&mut self) -> &mut Header {
        unsafe { &mut *self.arena.as_mut_ptr().cast() }
    }

    fn descriptor(&mut self, off: usize) -> &mut Descriptor {
        assert!(off % 8 == 0 && off + size_of::<Descriptor>() <= ARENA_BYTES);
        unsafe { &mut *self.arena.as_mut_ptr().cast::<u8>().add(off).cast() }
    }

    /// Takes n bytes, which are zero.
    fn area(&mut self, n: usize) -> usize {
        let off = self.at;
        self.at = (off + n + 7) & !7;
        assert!(self.at + MESSAGE_BYTES <= ARENA_BYTES, "the records of a test do not fit into the arena");
        off
    }

    /// Takes n bytes whose offset stands in the header.
    fn head(&mut self, place: fn(&mut Header) -> &mut u32, n: usize) -> usize {
        let off = self.area(n);
        *place(self.header()) = off as u32;
        off
    }

    fn bytes(&mut self, off: usize, bytes: &[u8]) {
        assert!(off + bytes.len() <= ARENA_BYTES);
        let to = unsafe { std::slice::from_raw_parts_mut(self.arena.as_mut_ptr().cast::<u8>(), ARENA_BYTES) };
        to[off..off + bytes.len()].copy_from_slice(bytes);
    }

    fn read(&self, off: usize, n: usize) -> &[u8] {
        let all = unsafe { std::slice::from_raw_parts(self.arena.as_ptr().cast::<u8>(), ARENA_BYTES) };
        &all[off..off + n]
    }

    fn number(&self, off: usize) -> u32 {
        u32::from_le_bytes(self.read(off, 4).try_into().expect("4 bytes"))
    }

    /// Writes input columns.
    fn columns(&mut self, columns: &[(Kind, bool)], rows: &[Vec<Value>]) {
        let n = rows.len();
        self.header().rows = n as u32;
        self.header().ncols = columns.len() as u32;
        let cols = self.head(|h| &mut h.cols, columns.len() * size_of::<Descriptor>());
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
    }

    /// Lays out output columns of one row.
    fn outputs(&mut self, kinds: &[Kind]) {
        self.header().noutcols = kinds.len() as u32;
        let cols = self.head(|h| &mut h.outcols, kinds.len() * size_of::<Descriptor>());
        for (k, &kind) in kinds.iter().enumerate() {
            let (validity, data) = (self.area(8) as u32, self.area(8) as u32);
            *self.descriptor(cols + k * size_of::<Descriptor>()) =
                Descriptor { kind: kind as u32, flags: HAS_VALIDITY, validity, data, ..Descriptor::default() };
        }
    }

    /// Reads the row that was answered.
    fn row(&mut self, kinds: &[Kind]) -> Vec<Value> {
        let h = *self.header();
        let mut row = Vec::new();
        for (k, kind) in kinds.iter().enumerate() {
            let d = *self.descriptor(h.outcols as usize + k * size_of::<Descriptor>());
            let at = d.data as usize;
            let bits = u64::from_le_bytes(self.read(at, 8).try_into().expect("8 bytes"));
            row.push(match kind {
                _ if self.read(d.validity as usize, 1)[0] & 1 == 0 => Value::Null,
                Kind::Int64 => Value::Int64(bits as i64),
                Kind::Float64 => Value::Float64(f64::from_bits(bits)),
                Kind::Timestamp => Value::Timestamp(Timestamp(bits as i64)),
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
