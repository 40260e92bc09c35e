//! Does not compile.

pub const N: i32 = "text";
