//! Output columns: what `row!` declares.

use crate::column::Field;
use crate::frame::{Descriptor, Frame, Status, TEXT_BYTES};
use crate::refusal::Refusal;
use crate::value::{Kind, Timestamp, Value};

/// A type of the fields of a `row!`: i64, f64, bool, String, &str, Timestamp, and an
/// Option of them, whose None is null.
pub trait Output: Sized + Into<Value> {
    #[doc(hidden)]
    const KIND: Kind;
    #[doc(hidden)]
    fn put<C: Cells>(self, to: &mut C);
    #[doc(hidden)]
    fn of(v: Value) -> Option<Self>;
}

/// Where a row is written, column by column.
#[doc(hidden)]
pub trait Cells {
    fn word(&mut self, v: u64);
    fn flag(&mut self, v: bool);
    fn text(&mut self, v: &str);
    fn null(&mut self);
}

/// What a plug-in hears whose row has longer texts than any call can carry.
pub(crate) const LONG_TEXTS: &str = "the texts of a result row are longer than 1 MiB";

/// The output columns of the current call, and the row that is being written.
#[doc(hidden)]
pub struct Outputs {
    frame: Frame,
    columns: Vec<OutColumn>,
    row: usize,
    next: usize, // the column that is written next
    start: u32,  // out_used before the row
    full: bool,  // a text did not fit into the output area
    large: bool, // the row's texts are longer than any call can carry
}

struct OutColumn {
    valid: *mut u64,
    data: *mut u8,
}

/// What became of a row.
enum Wrote {
    All,
    Full,
    TooLong,
}

impl Outputs {
    /// Binds the columns, of at most MAX_COUNT rows.
    pub(crate) fn bind(frame: Frame, fields: &[Field], rows: usize) -> Option<Outputs> {
        let h = frame.header();
        if h.noutcols as usize != fields.len() {
            return None;
        }
        let mut columns = Vec::with_capacity(fields.len());
        for (d, f) in frame.slice::<Descriptor>(h.outcols, fields.len())?.iter().zip(fields) {
            if d.kind != f.kind as u32 {
                return None;
            }
            let valid = frame.get::<u64>(d.validity, (rows + 63) / 64)?;
            let data = match f.kind {
                Kind::Bool => frame.get::<u8>(d.data, rows)?,
                _ => frame.get::<u64>(d.data, rows)?.cast(),
            };
            columns.push(OutColumn { valid, data });
        }
        Some(Outputs { frame, columns, row: 0, next: 0, start: 0, full: false, large: false })
    }

    /// Writes what an operation has answered for a row; Some: the call ends here.
    pub(crate) fn answer<R: Row>(&mut self, op: usize, row: usize, answer: Result<R, Refusal>) -> Option<Status> {
        Some(match answer {
            Err(e) => self.frame.refuse(e.text()),
            Ok(r) => match self.write(row, r) {
                Wrote::All => return None,
                Wrote::Full => self.frame.full(op),
                Wrote::TooLong => self.frame.refuse(LONG_TEXTS),
            },
        })
    }

    fn write<R: Row>(&mut self, row: usize, r: R) -> Wrote {
        self.row = row;
        self.next = 0;
        self.start = self.frame.header().out_used;
        self.full = false;
        self.large = false;
        r.put(self);
        if self.large {
            return Wrote::TooLong;
        }
        if self.full {
            self.frame.cut(self.start);
            return Wrote::Full;
        }
        Wrote::All
    }

    /// Writes the next column's value, which is of one size.
    fn number<T>(&mut self, v: T) {
        let c = &self.columns[self.next];
        // bind has seen that the column holds the row.
        unsafe {
            c.data.cast::<T>().add(self.row).write(v);
            *c.valid.add(self.row >> 6) |= 1 << (self.row & 63);
        }
        self.next += 1;
    }
}

impl Cells for Outputs {
    fn word(&mut self, v: u64) {
        self.number(v)
    }

    fn flag(&mut self, v: bool) {
        self.number(u8::from(v))
    }

    fn text(&mut self, v: &str) {
        let used = self.frame.header().out_used;
        if v.len() > TEXT_BYTES - (used - self.start) as usize {
            self.large = true;
        } else if self.frame.append(&[v.as_bytes()]) {
            self.number([used, v.len() as u32]);
            return;
        } else {
            self.full = true; // the row is answered again, in a call with more room
        }
        self.next += 1;
    }

    fn null(&mut self) {
        self.next += 1;
    }
}

macro_rules! output {
    ($type:ty, $kind:ident, |$v:ident, $to:ident| $put:expr) => {
        impl Output for $type {
            const KIND: Kind = Kind::$kind;
            #[inline(always)]
            fn put<C: Cells>(self, $to: &mut C) {
                let $v = self;
                $put
            }
            fn of(v: Value) -> Option<$type> {
                match v {
                    Value::$kind(v) => Some(v),
                    _ => None,
                }
            }
        }
    };
}

output!(i64, Int64, |v, to| to.word(v as u64));
output!(f64, Float64, |v, to| to.word(v.to_bits()));
output!(bool, Bool, |v, to| to.flag(v));
output!(Timestamp, Timestamp, |v, to| to.word(v.0 as u64));
output!(String, String, |v, to| to.text(&v));

impl<'a> Output for &'a str {
    const KIND: Kind = Kind::String;
    #[inline(always)]
    fn put<C: Cells>(self, to: &mut C) {
        to.text(self)
    }
    fn of(v: Value) -> Option<&'a str> {
        match v {
            Value::String(v) => Some(Box::leak(v.into_boxed_str())), // a test's; it is about to end
            _ => None,
        }
    }
}

impl<T: Output> Output for Option<T> {
    const KIND: Kind = T::KIND;
    #[inline(always)]
    fn put<C: Cells>(self, to: &mut C) {
        match self {
            Some(v) => v.put(to),
            None => to.null(),
        }
    }
    fn of(v: Value) -> Option<Option<T>> {
        match v {
            Value::Null => Some(None),
            v => T::of(v).map(Some),
        }
    }
}

/// What `row!` makes of a struct.
pub trait Row: Sized {
    #[doc(hidden)]
    const FIELDS: &'static [Field];
    #[doc(hidden)]
    fn put<C: Cells>(self, to: &mut C);
    /// Makes the struct of values in the order of its fields, for tests.
    #[doc(hidden)]
    fn of(values: Vec<Value>) -> Option<Self>;
}

/// A row as it may borrow texts. A struct that does, `Section<'a>`, stands in an impl as
/// `type Row = Section<'static>`.
pub trait Rows<'a> {
    /// The struct with texts that live as long as 'a.
    type Of: Row + Clone + std::fmt::Debug + PartialEq;
}

/// Declares the columns that a plug-in answers, as a struct with a field for each. A text
/// column is a String, or a &str where the row is written at once: in all kinds but
/// aggregates.
///
/// ```
/// tidemark::row! { struct Answer { count: i64, mean: Option<f64> } }
/// tidemark::row! { struct Section<'a> { path: &'a str, level: i64 } }
/// ```
#[macro_export]
macro_rules! row {
    ($(#[$meta:meta])* $vis:vis struct $name:ident { $($(#[$doc:meta])* $field:ident: $type:ty),+ $(,)? }) => {
        $(#[$meta])* #[derive(Clone, Debug, PartialEq)]
        $vis struct $name { $($(#[$doc])* pub $field: $type),+ }
        impl $crate::Row for $name {
            $crate::row!(@ $name, $($field: $type),+);
        }
        impl<'a> $crate::Rows<'a> for $name {
            type Of = $name;
        }
    };
    ($(#[$meta:meta])* $vis:vis struct $name:ident<$life:lifetime> { $($(#[$doc:meta])* $field:ident: $type:ty),+ $(,)? }) => {
        $(#[$meta])* #[derive(Clone, Debug, PartialEq)]
        $vis struct $name<$life> { $($(#[$doc])* pub $field: $type),+ }
        impl<$life> $crate::Row for $name<$life> {
            $crate::row!(@ $name, $($field: $type),+);
        }
        impl<$life> $crate::Rows<$life> for $name<'static> {
            type Of = $name<$life>;
        }
    };
    (@ $name:ident, $($field:ident: $type:ty),+) => {
        const FIELDS: &'static [$crate::inner::Field] = &[$($crate::inner::Field::output::<$type>(stringify!($field))),+];
        #[inline(always)]
        fn put<C: $crate::inner::Cells>(self, to: &mut C) {
            $($crate::Output::put(self.$field, to);)+
        }
        fn of(values: Vec<$crate::Value>) -> Option<Self> {
            let mut values = values.into_iter();
            Some($name { $($field: $crate::Output::of(values.next()?)?),+ })
        }
    };
}
