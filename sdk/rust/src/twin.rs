//! The twin of raw.rs: in place of the exports that a host calls there is a host in
//! miniature, which writes the same frames and serves the calls by the same code, each as
//! on a fresh instance.

mod aggregate;
pub(crate) mod apply;
mod assigner;
pub(crate) mod items;
mod map;
mod pair;
mod process;
mod trigger;
pub(crate) mod upgrade;
mod watermark;
pub(crate) mod writer;

pub use aggregate::{Acc, Twin};
pub use assigner::AssignerTwin;
pub use map::MapTwin;
pub use pair::PairTwin;
#[cfg(test)]
pub(crate) use process::Shown;
pub use process::{Fired, Given, ProcessTwin};
pub use trigger::{TriggerTwin, TwinPane};
pub use watermark::WatermarksTwin;

use crate::frame::{Descriptor, Status, ARENA_BYTES};
use crate::manifest::plain_name;
use crate::param::Params;
use crate::plugin::{Instance, Op, Plugin};
use crate::value::{Kind, Value};
use std::mem::size_of;
use writer::Writer;

/// Nothing is to be exported outside of a module.
#[doc(hidden)]
#[macro_export]
macro_rules! exports {
    ($plugin:ty, $($export:ident $op:ident),+) => {
        const _: fn() = || {
            fn registered<P: $crate::inner::Plugin>() {}
            registered::<$plugin>()
        };
    };
}

/// What a host shows to the job's owner when the plug-in refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The record, firing or pair that it refused, by its place among those that were shown;
    /// for merge and result the accumulator; None: the arguments.
    pub op: Option<usize>,
    pub message: String,
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Refused {}

/// Puts a job's arguments, by the parameters' names, in order. Panics where the
/// declaration is wrong or the arguments do not fit it, which no host lets happen.
fn arguments<P: Plugin>(args: &[(&str, Value)]) -> Vec<Value> {
    if let Err(problem) = P::manifest() {
        panic!("tidemark: {}", problem);
    }
    let declared = P::Params::declared();
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
    values
}

/// One call on a fresh instance.
pub(crate) struct Call<P: Plugin> {
    pub w: Writer,
    instance: Instance<P>,
}

impl<P: Plugin> Call<P> {
    /// Configures an instance, and begins the next frame.
    pub fn new(args: &[Value]) -> Result<Call<P>, Refused> {
        let mut c = Call { w: Writer::new(), instance: Instance::new() };
        let kinds: Vec<(Kind, bool)> = P::Params::declared().iter().map(|d| (d.kind, true)).collect();
        c.w.columns(&kinds, &[args.to_vec()]);
        c.serve(Op::Configure, None)?;
        c.w = Writer::new();
        Ok(c)
    }

    /// Gives the answer some room, or what is left of the arena, and calls.
    pub fn serve(&mut self, op: Op, room: Option<usize>) -> Result<Status, Refused> {
        match self.call(op, room) {
            Status::Refused => {
                let h = *self.w.header();
                let message = self.w.read(h.out as usize, h.out_used as usize).to_vec();
                Err(Refused {
                    op: (h.op != u32::MAX).then(|| h.op as usize),
                    message: String::from_utf8(message).expect("BUG: a message that is not UTF-8"),
                })
            }
            Status::BadFrame => panic!("BUG: the frame could not be read"),
            status => Ok(status),
        }
    }

    pub fn call(&mut self, op: Op, room: Option<usize>) -> Status {
        let out = self.w.area(0);
        let room = room.unwrap_or(ARENA_BYTES - out);
        let (outcols, noutcols) = (self.w.header().outcols as usize, self.w.header().noutcols as usize);
        let h = self.w.header();
        h.out = out as u32;
        h.out_cap = room as u32;
        h.size = (out + room) as u32;
        for i in 0..noutcols {
            let d = self.w.descriptor(outcols + i * size_of::<Descriptor>());
            d.blob = out as u32;
            d.blob_size = room as u32;
        }
        // The arena is this call's own.
        unsafe { self.instance.call(op, self.w.arena.as_mut_ptr().cast(), 0) }
    }
}
