//! Many operations on accumulators of a fixed size in one call, as tm_aggregate_apply
//! carries them (abi/SPEC.md, section 3).

use crate::aggregate::{Aggregate, Call, Kept};
use crate::column::{Columns, Record};
use crate::frame::{Frame, Status, MAX_COUNT};
use crate::list::{Block, ListBlock};
use crate::output::{Outputs, Row};

pub(crate) const RECORD: u32 = 0;
pub(crate) const RESULT: u32 = 1;
pub(crate) const RESET: u32 = 2;
pub(crate) const MERGE: u32 = 3;

/// An operation as it lies in a frame.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct ContentOp {
    pub what: u32,
    pub acc: u32,
    pub arg: u32,
    pub reserved: u32,
}

/// What a frame says of its operations; all of them are known to be in range.
#[doc(hidden)]
pub struct Agenda<'a> {
    pub(crate) ops: &'a [ContentOp],
    records: ListBlock, // each once, however many accumulators it goes into
    results: usize,     // rows of the output columns
}

impl<'a> Agenda<'a> {
    /// Checks the operations, so that the first one is carried out only if all can be; None:
    /// one of them names what is not there.
    fn open(f: &'a Frame) -> Option<Agenda<'a>> {
        let (b, h) = (Block::of(f)?, f.header());
        let ops = f.slice::<ContentOp>(b.items, h.rows as usize)?;
        let records = b.lists[0];
        let good = |op: &ContentOp| {
            let limit = match op.what {
                RECORD => records.rows,
                RESULT => b.results,
                RESET => 1, // there is nothing to name
                MERGE => h.groups,
                _ => 0,
            };
            op.acc < h.groups && op.arg < limit
        };
        let counts = records.rows <= MAX_COUNT && b.results <= MAX_COUNT;
        (counts && ops.iter().all(good)).then(|| Agenda { ops, records, results: b.results as usize })
    }
}

/// Serves a call.
pub(crate) fn serve<A: Aggregate>(f: Frame, columns: &mut Columns<'static>, params: &A::Params) -> Option<Status> {
    let agenda = Agenda::open(&f)?;
    let list = agenda.records;
    let kinds = A::Record::FIELDS.iter().map(|f| f.kind);
    if !columns.bind(&f, list.cols, list.ncols, list.rows as usize, kinds) {
        return None;
    }
    let mut out = Outputs::bind(f, A::Row::FIELDS, agenda.results)?;
    A::Kept::apply(&Call { frame: f, columns, params }, &agenda, &mut |op, row, answer| out.answer(op, row, answer))
}
