//! A plug-in of any kind: configured once on each instance, then called with frames.

use crate::column::Columns;
use crate::frame::{Frame, Status};
use crate::param::Params;
use crate::refusal::Refusal;

/// Exports a plug-in: once in a module. `plugin!(Sum)` exports an aggregate,
/// `plugin!(Alerts: Process)` what implements another trait.
#[macro_export]
macro_rules! plugin {
    ($plugin:ty: Process) => {
        $crate::exports!($crate::inner::ProcessOf<$plugin>, tm_process Process, tm_upgrade Upgrade);
    };
    ($plugin:ty: Pair) => {
        $crate::exports!($crate::inner::PairOf<$plugin>, tm_pair Pair);
    };
    ($plugin:ty: Map) => {
        $crate::exports!($crate::inner::MapOf<$plugin>, tm_map Map);
    };
    ($plugin:ty: Watermarks) => {
        $crate::exports!($crate::inner::WatermarksOf<$plugin>, tm_watermark Watermark, tm_watermark_tick Tick, tm_upgrade Upgrade);
    };
    ($plugin:ty: Trigger) => {
        $crate::exports!($crate::inner::TriggerOf<$plugin>, tm_trigger Trigger, tm_upgrade Upgrade);
    };
    ($plugin:ty: Assigner) => {
        $crate::exports!($crate::inner::AssignerOf<$plugin>, tm_assign Assign);
    };
    ($plugin:ty) => {
        $crate::exports!(
            $crate::inner::AggregateOf<$plugin>,
            tm_aggregate_create Create, tm_aggregate_add Add, tm_aggregate_merge Merge, tm_aggregate_result Result,
            tm_aggregate_apply Apply, tm_upgrade Upgrade
        );
    };
}

/// The calls that carry a frame.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    Configure,
    Create,
    Add,
    Merge,
    Result,
    Apply,
    Process,
    Pair,
    Map,
    Watermark,
    Tick,
    Trigger,
    Assign,
    Upgrade,
}

/// What the exports and the twins know of a plug-in. Each kind has a type that makes one
/// of what an author wrote, such as MapOf.
#[doc(hidden)]
pub trait Plugin {
    type Params: Params;
    fn configure(p: &Self::Params) -> Result<(), Refusal>;
    /// Serves a call; None: the frame cannot be read.
    fn serve(op: Op, f: Frame, columns: &mut Columns<'static>, p: &Self::Params) -> Option<Status>;
    /// Writes the manifest; the error says what is wrong with the declaration.
    fn manifest() -> Result<String, String>;
}

/// What stays between two calls: the arguments, and memory that is worth using again.
#[doc(hidden)]
pub struct Instance<P: Plugin> {
    params: Option<P::Params>,
    columns: Columns<'static>,
}

impl<P: Plugin> Instance<P> {
    pub(crate) const fn new() -> Instance<P> {
        Instance { params: None, columns: Columns(Vec::new()) }
    }

    /// Serves a call on the frame at an offset into the arena.
    ///
    /// # Safety
    /// As for Frame::open.
    pub(crate) unsafe fn call(&mut self, op: Op, arena: *mut u8, at: usize) -> Status {
        match Frame::open(arena, at) {
            Some(f) if op == Op::Configure => self.configure(f),
            Some(f) => self.params.as_ref().and_then(|p| P::serve(op, f, &mut self.columns, p)),
            None => None,
        }
        .unwrap_or(Status::BadFrame)
    }

    fn configure(&mut self, f: Frame) -> Option<Status> {
        let declared = P::Params::declared();
        if f.header().rows != 1 || !self.columns.bind_inputs(&f, declared.iter().map(|d| d.kind)) {
            return None;
        }
        // The columns are those that are declared, and of one row.
        let params = unsafe { P::Params::read(&self.columns) }?;
        if let Err(e) = P::configure(&params) {
            return Some(f.refuse(e.text()));
        }
        self.params = Some(params);
        Some(Status::Ok)
    }
}
