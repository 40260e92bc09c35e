//! Output columns: what `row!` declares.

use crate::column::Field;
use crate::frame::{Descriptor, Frame, TEXT_BYTES};
use crate::value::{Kind, Timestamp, Value};

/// A type of the fields of a `row!`: i64, f64, bool, String, Timestamp, and an Option of
/// them, whose None is null.
pub trait Output: Sized + Into<Value> {
    #[doc(hidden)]
    const KIND: Kind;
    #[doc(hidden)]
    fn put(self, w: &mut Outputs);
    #[doc(hidden)]
    fn of(v: Value) -> Option<Self>;
}

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
pub(crate) enum Wrote {
    All,
    Full,
    TooLong,
}

impl Outputs {
    pub(crate) fn bind(frame: Frame, fields: &[Field]) -> Option<Outputs> {
        let h = frame.header();
        let rows = h.groups as usize;
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

    pub(crate) fn write<R: Row>(&mut self, row: usize, r: R) -> Wrote {
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
    ($type:ty, $kind:ident, |$v:ident, $w:ident| $put:expr) => {
        impl Output for $type {
            const KIND: Kind = Kind::$kind;
            fn put(self, $w: &mut Outputs) {
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

output!(i64, Int64, |v, w| w.number(v));
output!(f64, Float64, |v, w| w.number(v));
output!(bool, Bool, |v, w| w.number(u8::from(v)));
output!(Timestamp, Timestamp, |v, w| w.number(v.0));
output!(String, String, |v, w| w.text(&v));

impl<T: Output> Output for Option<T> {
    const KIND: Kind = T::KIND;
    fn put(self, w: &mut Outputs) {
        match self {
            Some(v) => v.put(w),
            None => w.null(),
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
    fn put(self, w: &mut Outputs);
    /// Makes the struct of values in the order of its fields, for tests.
    #[doc(hidden)]
    fn of(values: Vec<Value>) -> Option<Self>;
}

/// Declares the columns that an aggregate answers, as a struct with a field for each. A
/// text column is a String.
///
/// ```
/// tidemark::row! { struct Answer { count: i64, mean: Option<f64> } }
/// ```
#[macro_export]
macro_rules! row {
    ($(#[$meta:meta])* $vis:vis struct $name:ident { $($(#[$doc:meta])* $field:ident: $type:ty),+ $(,)? }) => {
        $(#[$meta])* #[derive(Clone, Debug, PartialEq)]
        $vis struct $name { $($(#[$doc])* pub $field: $type),+ }
        impl $crate::Row for $name {
            const FIELDS: &'static [$crate::inner::Field] = &[$($crate::inner::Field::output::<$type>(stringify!($field))),+];
            fn put(self, w: &mut $crate::inner::Outputs) {
                $($crate::Output::put(self.$field, w);)+
            }
            fn of(values: Vec<$crate::Value>) -> Option<$name> {
                let mut values = values.into_iter();
                Some($name { $($field: $crate::Output::of(values.next()?)?),+ })
            }
        }
    };
}
