//! Parameters: what `params!` declares.

use crate::column::{Column, Columns, Input};
use crate::value::{Kind, Value};

/// A type of the fields of a `params!`: i64, f64, bool, String, and an Option of them.
pub trait Param: Sized + Into<Value> {
    #[doc(hidden)]
    const KIND: Kind;
    #[doc(hidden)]
    const OPTIONAL: bool = false;
    /// # Safety
    /// The column is of KIND and has a row.
    #[doc(hidden)]
    unsafe fn given(c: &Column<'_>) -> Option<Self>;
}

macro_rules! param {
    ($type:ty, $input:ty, $kind:ident) => {
        impl Param for $type {
            const KIND: Kind = Kind::$kind;
            unsafe fn given(c: &Column<'_>) -> Option<$type> {
                Option::<$input>::at(c, 0).map(Into::into)
            }
        }
    };
}

param!(i64, i64, Int64);
param!(f64, f64, Float64);
param!(bool, bool, Bool);
param!(String, &str, String);

impl<T: Param> Param for Option<T> {
    const KIND: Kind = T::KIND;
    const OPTIONAL: bool = true;
    unsafe fn given(c: &Column<'_>) -> Option<Option<T>> {
        Some(T::given(c))
    }
}

/// A declared parameter.
#[doc(hidden)]
pub struct Declared {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) required: bool,
    pub(crate) default: Value, // Null: none
}

impl Declared {
    pub fn new<T: Param>(name: &'static str, default: Option<T>) -> Declared {
        Declared { name, kind: T::KIND, required: default.is_none() && !T::OPTIONAL, default: default.into() }
    }
}

/// What `params!` makes of a struct.
pub trait Params: Sized {
    #[doc(hidden)]
    fn declared() -> Vec<Declared>;
    /// None: an argument is missing, which a host never lets happen.
    ///
    /// # Safety
    /// The columns are bound to those that are declared, and have a row.
    #[doc(hidden)]
    unsafe fn read(columns: &Columns<'_>) -> Option<Self>;
}

/// No parameters.
impl Params for () {
    fn declared() -> Vec<Declared> {
        Vec::new()
    }
    unsafe fn read(_: &Columns<'_>) -> Option<()> {
        Some(())
    }
}

/// Declares the arguments that a job gives to the aggregate, as a struct with a field for
/// each: with a default, required without one, and an Option where neither.
///
/// ```
/// tidemark::params! { struct Limits { high: f64, low: f64 = 0.0, unit: Option<String> } }
/// ```
#[macro_export]
macro_rules! params {
    ($(#[$meta:meta])* $vis:vis struct $name:ident { $($(#[$doc:meta])* $field:ident: $type:ty $(= $default:expr)?),+ $(,)? }) => {
        $(#[$meta])* #[derive(Clone, Debug)]
        $vis struct $name { $($(#[$doc])* pub $field: $type),+ }
        impl $crate::Params for $name {
            fn declared() -> Vec<$crate::inner::Declared> {
                vec![$({
                    #[allow(unused_mut, unused_assignments)]
                    let mut default: Option<$type> = None;
                    $(default = Some($default);)?
                    $crate::inner::Declared::new(stringify!($field), default)
                }),+]
            }
            unsafe fn read(columns: &$crate::inner::Columns<'_>) -> Option<$name> {
                let [$($field),+] = columns.array();
                Some($name { $($field: $crate::Param::given(&$field)?),+ })
            }
        }
    };
}
