//! The Tidemark SDK for plug-ins in Rust: user-defined functions over windows, compiled
//! to WebAssembly. It compiles with Rust 1.63 and needs no other crate.
//!
//! A plug-in is of one kind, and each kind is a trait: [`Aggregate`], [`Process`], [`Pair`],
//! [`Map`], [`Trigger`], [`Watermarks`] and [`Assigner`], with an example in each. An author
//! declares what a record, an answer and the arguments of a job hold, and writes, for an
//! aggregate, three methods on an accumulator:
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
//! abi/SPEC.md; records are read from them in place, and rows are written to them.
//! Accumulators and states belong to the host between any two calls, so whatever shall
//! survive a call stands there and nowhere else. There is no clock, no randomness and no
//! outside: the same records must give the same answers.
//!
//! Three ways to say no. An `Err` refuses what is being worked on, and its text reaches
//! the job's owner. A panic ends the instance, and the host goes on with a fresh one. A
//! mistake in a declaration is an error of the compiler or of `tidemark plugin build`.
//!
//! In `cargo test` the same code is driven by a host in miniature: `Twin` for aggregates,
//! `ProcessTwin` for process functions, and so on. All of them have `laws`, which tries what
//! a host relies on, such as cutting a call anywhere. raw.rs is the only file that knows
//! WebAssembly.

mod aggregate;
mod answer;
mod apply;
mod assigner;
mod bytes;
mod column;
mod fixed;
mod frame;
#[cfg(not(target_arch = "wasm32"))]
mod laws;
mod list;
#[cfg(not(target_arch = "wasm32"))]
mod log;
mod manifest;
mod map;
mod output;
mod pair;
mod param;
mod plugin;
mod process;
#[cfg(target_arch = "wasm32")]
#[doc(hidden)]
pub mod raw;
mod refusal;
mod side;
mod state;
#[cfg(test)]
mod tests;
mod trigger;
#[cfg(not(target_arch = "wasm32"))]
mod twin;
mod upgrade;
mod value;
mod varying;
mod watermark;

pub use aggregate::{Aggregate, Kept};
pub use assigner::{Assigned, Assigner};
pub use bytes::{put_uvarint, take, take_uvarint};
pub use column::{Input, Record};
pub use fixed::{Fixed, Plain};
pub use list::{Both, CoGroup, List, Lists, Records, Timed};
#[cfg(not(target_arch = "wasm32"))]
pub use log::log;
pub use map::{Map, Mapped};
pub use output::{Output, Row, Rows};
pub use pair::{Pair, Paired};
pub use param::{Param, Params};
pub use process::{Firing, Process};
#[cfg(target_arch = "wasm32")]
pub use raw::log;
pub use refusal::Refusal;
pub use side::{Side, Sides};
pub use state::{Bytes, Slot, State};
pub use trigger::{Domain, Pane, Trigger, Verdict};
#[cfg(not(target_arch = "wasm32"))]
pub use twin::{Acc, AssignerTwin, Fired, Given, MapTwin, PairTwin, ProcessTwin, Refused, TriggerTwin, Twin, TwinPane, WatermarksTwin};
pub use upgrade::{KeptOf, Upgrade};
pub use value::{Timestamp, Value};
pub use varying::{Encode, Varying};
pub use watermark::Watermarks;

/// What the macros need of the SDK's inner parts; not for authors.
#[doc(hidden)]
pub mod inner {
    pub use crate::aggregate::AggregateOf;
    pub use crate::assigner::AssignerOf;
    pub use crate::column::{Column, Columns, Field};
    pub use crate::fixed::is_plain;
    pub use crate::map::MapOf;
    pub use crate::output::Cells;
    pub use crate::pair::PairOf;
    pub use crate::param::Declared;
    pub use crate::plugin::{Op, Plugin};
    pub use crate::process::ProcessOf;
    pub use crate::trigger::TriggerOf;
    pub use crate::watermark::WatermarksOf;
}
