//! Values as tests and declarations hold them. The record path has none.

/// An event time: milliseconds since 1970-01-01 UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

/// A value of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Int64(i64),
    Float64(f64),
    Bool(bool),
    String(String),
    Timestamp(Timestamp),
}

impl Value {
    /// Whether both are the same: floats by their bits.
    pub fn same(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Float64(a), Value::Float64(b)) => a.to_bits() == b.to_bits(),
            _ => self == other,
        }
    }
}

impl From<i64> for Value {
    fn from(v: i64) -> Value {
        Value::Int64(v)
    }
}

impl From<f64> for Value {
    fn from(v: f64) -> Value {
        Value::Float64(v)
    }
}

impl From<bool> for Value {
    fn from(v: bool) -> Value {
        Value::Bool(v)
    }
}

impl From<&str> for Value {
    fn from(v: &str) -> Value {
        Value::String(v.into())
    }
}

impl From<String> for Value {
    fn from(v: String) -> Value {
        Value::String(v)
    }
}

impl From<Timestamp> for Value {
    fn from(v: Timestamp) -> Value {
        Value::Timestamp(v)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(v: Option<T>) -> Value {
        v.map_or(Value::Null, Into::into)
    }
}

/// The type of a column (abi/SPEC.md, section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    Int64 = 1,
    Float64 = 2,
    Bool = 3,
    String = 4,
    Timestamp = 5,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Int64 => "int64",
            Kind::Float64 => "float64",
            Kind::Bool => "bool",
            Kind::String => "string",
            Kind::Timestamp => "timestamp",
        }
    }
}
