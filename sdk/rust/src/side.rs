//! Side outputs of process functions: what `sides!` declares.

use crate::column::Field;
use crate::output::Cells;
use crate::value::Value;

/// A row of one of the side outputs: what `sides!` makes of an enum.
pub trait Side: Sized {
    #[doc(hidden)]
    const SIDES: &'static [(&'static str, &'static [Field])];
    /// Which of SIDES it belongs to.
    #[doc(hidden)]
    fn index(&self) -> usize;
    #[doc(hidden)]
    fn put<C: Cells>(self, to: &mut C);
    /// Makes the row of values in the order of its fields, for tests.
    #[doc(hidden)]
    fn of(index: usize, values: Vec<Value>) -> Option<Self>;
}

/// A row of a side output as it may borrow texts: `type Side = Further<'static>`, as with
/// [`Rows`](crate::Rows). `()`: there are no side outputs.
pub trait Sides<'a> {
    /// The enum with texts that live as long as 'a.
    type Of: Side + Clone + std::fmt::Debug + PartialEq;
}

/// A row of none.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq)]
pub enum NoSide {}

impl<'a> Sides<'a> for () {
    type Of = NoSide;
}

impl Side for NoSide {
    const SIDES: &'static [(&'static str, &'static [Field])] = &[];
    fn index(&self) -> usize {
        match *self {}
    }
    fn put<C: Cells>(self, _: &mut C) {
        match self {}
    }
    fn of(_: usize, _: Vec<Value>) -> Option<NoSide> {
        None
    }
}

/// Declares further outputs, at most 16, which the job's sinks read as STEP.NAME. Each has
/// rows of a type of `row!`; they are given as `Further::late_ones(Late { … })`.
///
/// ```
/// tidemark::row! { struct Late<'a> { user: &'a str } }
/// tidemark::row! { struct Total { total: i64 } }
/// tidemark::sides! { enum Further<'a> { late_ones(Late<'a>), totals(Total) } }
/// ```
#[macro_export]
macro_rules! sides {
    ($(#[$meta:meta])* $vis:vis enum $name:ident { $($(#[$doc:meta])* $side:ident($row:ty)),+ $(,)? }) => {
        $(#[$meta])* #[derive(Clone, Debug, PartialEq)] #[allow(non_camel_case_types)]
        $vis enum $name { $($(#[$doc])* $side($row)),+ }
        impl $crate::Side for $name {
            $crate::sides!(@ $name, $($side($row)),+);
        }
        impl<'a> $crate::Sides<'a> for $name {
            type Of = $name;
        }
    };
    ($(#[$meta:meta])* $vis:vis enum $name:ident<$life:lifetime> { $($(#[$doc:meta])* $side:ident($row:ty)),+ $(,)? }) => {
        $(#[$meta])* #[derive(Clone, Debug, PartialEq)] #[allow(non_camel_case_types)]
        $vis enum $name<$life> { $($(#[$doc])* $side($row)),+ }
        impl<$life> $crate::Side for $name<$life> {
            $crate::sides!(@ $name, $($side($row)),+);
        }
        impl<$life> $crate::Sides<$life> for $name<'static> {
            type Of = $name<$life>;
        }
    };
    (@ $name:ident, $($side:ident($row:ty)),+) => {
        const SIDES: &'static [(&'static str, &'static [$crate::inner::Field])] =
            &[$((stringify!($side), <$row as $crate::Row>::FIELDS)),+];
        fn index(&self) -> usize {
            #[allow(non_camel_case_types)]
            enum Index { $($side),+ }
            match self { $($name::$side(_) => Index::$side as usize),+ }
        }
        #[inline(always)]
        fn put<C: $crate::inner::Cells>(self, to: &mut C) {
            match self { $($name::$side(row) => $crate::Row::put(row, to)),+ }
        }
        fn of(index: usize, values: Vec<$crate::Value>) -> Option<Self> {
            let made: &[fn(Vec<$crate::Value>) -> Option<Self>] =
                &[$(|values| $crate::Row::of(values).map($name::$side)),+];
            made.get(index)?(values)
        }
    };
}
