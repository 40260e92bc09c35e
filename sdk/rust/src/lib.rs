//! The Tidemark SDK for plug-ins in Rust: user-defined aggregates over windows,
//! compiled to WebAssembly. It compiles with Rust 1.63 and needs no other crate.
//!
//! An author declares what a record, an answer and the arguments of a job hold, and
//! writes three methods on an accumulator:
//!
//! ```
//! use tidemark::{Aggregate, Fixed, Refusal};
//!
//! tidemark::record! { struct Order { price: f64 } }
//! tidemark::row! { struct Answer { total: f64 } }
//! tidemark::plain! { struct Sum { total: f64 } }
//!
//! impl Aggregate for Sum {
//!     const NAME: &'static str = "sum";
//!     const VERSION: &'static str = "1.0.0";
//!     const ORDER_INSENSITIVE: bool = true;
//!     type Record = Order;
//!     type Row = Answer;
//!     type Params = ();
//!     type Kept = Fixed;
//!
//!     fn add(&mut self, r: Order, _: &()) -> Result<(), Refusal> {
//!         self.total += r.price;
//!         Ok(())
//!     }
//!     fn merge(&mut self, from: Self, _: &()) -> Result<(), Refusal> {
//!         self.total += from.total;
//!         Ok(())
//!     }
//!     fn result(&self, _: &()) -> Result<Answer, Refusal> {
//!         Ok(Answer { total: self.total })
//!     }
//! }
//!
//! tidemark::plugin!(Sum);
//! ```
//!
//! The host calls with batches of columns that lie in the guest's memory, the frames of
//! abi/SPEC.md; records are read from them in place. Accumulators belong to the host
//! between any two calls, so whatever shall survive a call stands in the accumulator
//! and nowhere else. There is no clock, no randomness and no outside: the same records
//! must give the same answers.
//!
//! Three ways to say no. An `Err` refuses what is being worked on, and its text reaches
//! the job's owner. A panic ends the instance, and the host goes on with a fresh one. A
//! mistake in a declaration is an error of the compiler or of `tidemark plugin build`.
//!
//! In `cargo test` the same aggregate is driven by `Twin`, a host in miniature. raw.rs
//! is the only file that knows WebAssembly.

mod aggregate;
mod bytes;
mod column;
mod fixed;
mod frame;
#[cfg(not(target_arch = "wasm32"))]
mod laws;
mod manifest;
mod output;
mod param;
#[cfg(target_arch = "wasm32")]
#[doc(hidden)]
pub mod raw;
#[cfg(test)]
mod tests;
#[cfg(not(target_arch = "wasm32"))]
mod twin;
mod value;
mod varying;

pub use aggregate::{Aggregate, Kept, Refusal};
pub use bytes::{put_uvarint, take, take_uvarint};
pub use column::{Input, Record};
pub use fixed::{Fixed, Plain};
pub use output::{Output, Row};
pub use param::{Param, Params};
#[cfg(not(target_arch = "wasm32"))]
pub use twin::{Acc, Refused, Twin};
pub use value::{Timestamp, Value};
pub use varying::{Encode, Varying};

/// What the macros need of the SDK's inner parts; not for authors.
#[doc(hidden)]
pub mod inner {
    pub use crate::aggregate::Op;
    pub use crate::column::{Column, Columns, Field};
    pub use crate::fixed::is_plain;
    pub use crate::output::Outputs;
    pub use crate::param::Declared;
}
