//! Input columns: what `record!` declares, bound to the frame at each call.

use crate::frame::{Descriptor, Frame, HAS_VALIDITY};
use crate::value::{Kind, Timestamp, Value};
use std::marker::PhantomData;

/// A declared column.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Field {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) nullable: bool,
}

impl Field {
    pub const fn input<'a, T: Input<'a>>(name: &'static str) -> Field {
        Field { name, kind: T::KIND, nullable: T::NULLABLE }
    }

    pub const fn output<T: crate::Output>(name: &'static str) -> Field {
        Field { name, kind: T::KIND, nullable: false }
    }
}

/// A type of the fields of a `record!`: i64, f64, bool, &str, Timestamp, and an Option
/// of them, which asks for records without a value too; without it the host leaves them
/// out.
pub trait Input<'a>: Sized + Into<Value> {
    #[doc(hidden)]
    const KIND: Kind;
    #[doc(hidden)]
    const NULLABLE: bool = false;
    /// # Safety
    /// The column is of KIND and has the row.
    #[doc(hidden)]
    unsafe fn at(c: &Column<'a>, row: usize) -> Self;
}

/// A column of the current call. bind has seen that it holds all rows.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct Column<'a> {
    valid: *const u64, // null: no row is null
    data: *const u8,
    blob: *const u8,
    frame: PhantomData<&'a u8>,
}

impl<'a> Column<'a> {
    pub(crate) fn bind(f: &Frame, d: &Descriptor, kind: Kind, rows: usize) -> Option<Column<'a>> {
        if d.kind != kind as u32 {
            return None;
        }
        let mut c = Column { valid: std::ptr::null(), data: std::ptr::null(), blob: std::ptr::null(), frame: PhantomData };
        if d.flags & HAS_VALIDITY != 0 {
            c.valid = f.get::<u64>(d.validity, (rows + 63) / 64)?;
        }
        c.data = match kind {
            Kind::Bool => f.get::<u8>(d.data, rows)?,
            Kind::String => f.get::<u32>(d.data, rows + 1)?.cast(),
            _ => f.get::<u64>(d.data, rows)?.cast(),
        };
        if kind == Kind::String {
            c.blob = f.get::<u8>(d.blob, d.blob_size as usize)?;
            // Offsets that go backwards would reach out of the frame.
            let off = f.slice::<u32>(d.data, rows + 1)?;
            if off[rows] > d.blob_size || !off.windows(2).fold(true, |good, w| good & (w[0] <= w[1])) {
                return None;
            }
        }
        Some(c)
    }

    #[inline(always)]
    unsafe fn has(&self, row: usize) -> bool {
        self.valid.is_null() || *self.valid.add(row >> 6) >> (row & 63) & 1 != 0
    }

    #[inline(always)]
    unsafe fn number<T: Copy>(&self, row: usize) -> T {
        *self.data.cast::<T>().add(row)
    }
}

impl<'a> Input<'a> for i64 {
    const KIND: Kind = Kind::Int64;
    #[inline(always)]
    unsafe fn at(c: &Column<'a>, row: usize) -> i64 {
        c.number(row)
    }
}

impl<'a> Input<'a> for f64 {
    const KIND: Kind = Kind::Float64;
    #[inline(always)]
    unsafe fn at(c: &Column<'a>, row: usize) -> f64 {
        c.number(row)
    }
}

impl<'a> Input<'a> for bool {
    const KIND: Kind = Kind::Bool;
    #[inline(always)]
    unsafe fn at(c: &Column<'a>, row: usize) -> bool {
        c.number::<u8>(row) != 0
    }
}

impl<'a> Input<'a> for Timestamp {
    const KIND: Kind = Kind::Timestamp;
    #[inline(always)]
    unsafe fn at(c: &Column<'a>, row: usize) -> Timestamp {
        Timestamp(c.number(row))
    }
}

impl<'a> Input<'a> for &'a str {
    const KIND: Kind = Kind::String;
    #[inline(always)]
    unsafe fn at(c: &Column<'a>, row: usize) -> &'a str {
        let (from, to) = (c.number::<u32>(row) as usize, c.number::<u32>(row + 1) as usize);
        // Hosts answer for texts being UTF-8 (section 3); looking again would cost more
        // than most aggregates.
        std::str::from_utf8_unchecked(std::slice::from_raw_parts(c.blob.add(from), to - from))
    }
}

impl<'a, T: Input<'a>> Input<'a> for Option<T> {
    const KIND: Kind = T::KIND;
    const NULLABLE: bool = true;
    #[inline(always)]
    unsafe fn at(c: &Column<'a>, row: usize) -> Option<T> {
        if c.has(row) {
            Some(T::at(c, row))
        } else {
            None
        }
    }
}

/// The input columns of the current call.
#[doc(hidden)]
pub struct Columns<'a>(pub(crate) Vec<Column<'a>>);

impl<'a> Columns<'a> {
    /// Points the columns at the frame's input columns; false: it has others.
    pub(crate) fn bind_inputs(&mut self, f: &Frame, kinds: impl ExactSizeIterator<Item = Kind>) -> bool {
        let h = f.header();
        self.bind(f, h.cols, h.ncols, h.rows as usize, kinds)
    }

    /// Points the columns of some kinds at those that the frame describes at an offset;
    /// false: it has others there.
    pub(crate) fn bind(&mut self, f: &Frame, at: u32, ncols: u32, rows: usize, kinds: impl ExactSizeIterator<Item = Kind>) -> bool {
        self.0.clear();
        let n = kinds.len();
        match f.slice::<Descriptor>(at, n) {
            Some(ds) if ncols as usize == n => {
                self.0.extend(ds.iter().zip(kinds).map_while(|(d, k)| Column::bind(f, d, k, rows)));
            }
            _ => return false,
        }
        self.0.len() == n
    }

    /// Gives the columns, of which there are N.
    pub fn array<const N: usize>(&self) -> [Column<'a>; N] {
        self.0[..].try_into().expect("bind has counted them")
    }
}

/// What `record!` makes of a struct. A struct that borrows texts, `Order<'a>`, stands in
/// an impl of Aggregate as `type Record = Order<'static>`, and in `add` as `Order`.
pub trait Record<'a> {
    /// The struct as it borrows from one call.
    type Of: Clone;
    #[doc(hidden)]
    const FIELDS: &'static [Field];
    /// The columns of a call as an array of their number, which a loop over records keeps
    /// in registers.
    #[doc(hidden)]
    type Bound: Copy;
    /// Takes as many columns as there are FIELDS.
    #[doc(hidden)]
    fn bound(columns: &Columns<'a>) -> Self::Bound;
    /// # Safety
    /// The columns are bound to FIELDS in a frame with the row.
    #[doc(hidden)]
    unsafe fn read(bound: &Self::Bound, row: usize) -> Self::Of;
    #[doc(hidden)]
    fn values(of: Self::Of) -> Vec<Value>;
}

/// No columns.
impl<'a> Record<'a> for () {
    type Of = ();
    const FIELDS: &'static [Field] = &[];
    type Bound = ();
    fn bound(_: &Columns<'a>) {}
    unsafe fn read(_: &(), _: usize) {}
    fn values(_: ()) -> Vec<Value> {
        Vec::new()
    }
}

/// Declares the columns that an aggregate reads, as a struct with a field for each:
///
/// ```
/// tidemark::record! {
///     /// What is read of a visit.
///     struct Visit<'a> { user: &'a str, seconds: f64, referrer: Option<&'a str> }
/// }
/// ```
#[macro_export]
macro_rules! record {
    ($(#[$meta:meta])* $vis:vis struct $name:ident { $($(#[$doc:meta])* $field:ident: $type:ty),* $(,)? }) => {
        $(#[$meta])* #[derive(Clone, Debug)]
        $vis struct $name { $($(#[$doc])* pub $field: $type),* }
        $crate::record!(@ 'a, $name, $name, $name, $($field: $type),*);
    };
    ($(#[$meta:meta])* $vis:vis struct $name:ident<$life:lifetime> { $($(#[$doc:meta])* $field:ident: $type:ty),* $(,)? }) => {
        $(#[$meta])* #[derive(Clone, Debug)]
        $vis struct $name<$life> { $($(#[$doc])* pub $field: $type),* }
        $crate::record!(@ $life, $name<'static>, $name<$life>, $name, $($field: $type),*);
    };
    (@ $life:lifetime, $own:ty, $of:ty, $name:ident, $($field:ident: $type:ty),*) => {
        impl<$life> $crate::Record<$life> for $own {
            type Of = $of;
            const FIELDS: &'static [$crate::inner::Field] = &[$($crate::inner::Field::input::<$type>(stringify!($field))),*];
            type Bound = [$crate::inner::Column<$life>; [$(stringify!($field)),*].len()];
            fn bound(columns: &$crate::inner::Columns<$life>) -> Self::Bound {
                columns.array()
            }
            #[inline(always)]
            unsafe fn read(bound: &Self::Bound, row: usize) -> $of {
                let [$($field),*] = bound;
                $name { $($field: $crate::Input::at($field, row)),* }
            }
            fn values(of: $of) -> Vec<$crate::Value> {
                vec![$(of.$field.into()),*]
            }
        }
    };
}
