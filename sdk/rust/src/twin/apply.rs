//! The twin of agendas: many operations on accumulators of a fixed size in one call.

use crate::aggregate::{Aggregate, AggregateOf, Kept};
use crate::apply::{ContentOp, MERGE, RECORD, RESET, RESULT};
use crate::column::Record;
use crate::frame::Status;
use crate::list::{Block, ListBlock};
use crate::output::Row;
use crate::plugin::Op;
use crate::twin::{Acc, Call, Refused, Twin};
use crate::value::{Kind, Value};

/// What one call carries.
#[derive(Clone, Default)]
pub(crate) struct Agenda {
    pub accs: Vec<Acc>,
    pub records: Vec<Vec<Value>>,
    pub ops: Vec<ContentOp>,
    results: u32,
}

impl Agenda {
    pub fn new(accs: Vec<Acc>) -> Agenda {
        Agenda { accs, ..Agenda::default() }
    }

    fn op(&mut self, what: u32, acc: usize, arg: u32) {
        self.ops.push(ContentOp { what, acc: acc as u32, arg, reserved: 0 });
    }

    /// Folds a record in that no operation before has named.
    pub fn record(&mut self, acc: usize, record: Vec<Value>) {
        self.again(acc, self.records.len());
        self.records.push(record);
    }

    /// Folds record number row in, once more.
    pub fn again(&mut self, acc: usize, row: usize) {
        self.op(RECORD, acc, row as u32);
    }

    pub fn result(&mut self, acc: usize) {
        self.op(RESULT, acc, self.results);
        self.results += 1;
    }

    pub fn reset(&mut self, acc: usize) {
        self.op(RESET, acc, 0);
    }

    pub fn merge(&mut self, acc: usize, from: usize) {
        self.op(MERGE, acc, from as u32);
    }

    /// What is left when some operations are done, which leave accumulators behind.
    fn behind(&self, done: usize, accs: Vec<Acc>) -> Agenda {
        let given = results(&self.ops[..done]) as u32;
        let mut rest = Agenda { accs, records: self.records.clone(), ops: self.ops[done..].to_vec(), results: self.results - given };
        for op in rest.ops.iter_mut().filter(|op| op.what == RESULT) {
            op.arg -= given;
        }
        rest
    }
}

fn results(ops: &[ContentOp]) -> usize {
    ops.iter().filter(|op| op.what == RESULT).count()
}

/// What became of an agenda.
pub(crate) struct Applied {
    pub accs: Vec<Acc>,
    pub rows: Vec<Vec<Value>>, // of the operations that are done
    pub done: usize,           // operations
}

impl<A: Aggregate> Twin<A> {
    /// Lays out the frame of an agenda, and gives it with its block.
    pub(crate) fn agenda(&self, a: &Agenda) -> Result<(Call<AggregateOf<A>>, usize), Refused> {
        let mut c = Call::new(&self.args)?;
        let w = &mut c.w;
        let fields = <A::Record as Record<'_>>::FIELDS;
        let columns: Vec<(Kind, bool)> = fields.iter().map(|f| (f.kind, f.nullable)).collect();
        let items = w.plain(&a.ops);
        let records = ListBlock { rows: a.records.len() as u32, cols: w.described(&columns, &a.records), ncols: columns.len() as u32 };
        let accs: Vec<u8> = a.accs.iter().flat_map(|a| a.0.clone()).collect();
        let acc = w.plain(&accs);
        w.outputs(&kinds::<A>(), a.results as usize);
        let block = w.plain(&[Block { items, results: a.results, lists: [records, ListBlock::default()], ..Block::default() }]);
        let h = w.header();
        (h.rows, h.groups, h.acc, h.block) = (a.ops.len() as u32, a.accs.len() as u32, acc, block);
        Ok((c, block as usize))
    }

    /// Carries an agenda out, with some bytes for texts or what is left of the arena.
    pub(crate) fn apply(&self, a: &Agenda, room: Option<usize>) -> Result<Applied, Refused> {
        let (mut c, _) = self.agenda(a)?;
        let done = match c.serve(Op::Apply, room)? {
            Status::OutputFull => c.w.header().done as usize,
            _ => a.ops.len(),
        };
        let acc = c.w.header().acc as usize;
        Ok(Applied {
            accs: (0..a.accs.len()).map(|i| Acc(c.w.read(acc + i * A::Kept::WIDTH, A::Kept::WIDTH).to_vec())).collect(),
            rows: (0..results(&a.ops[..done])).map(|i| c.w.row(&kinds::<A>(), i)).collect(),
            done,
        })
    }

    /// Checks that one call does what single calls do: two accumulators get the records by
    /// turns, with results on the way, one of them is emptied half-way, and the other takes
    /// it in at the end.
    pub(crate) fn in_one_call<'a>(&self, records: &[<A::Record as Record<'a>>::Of]) -> Result<(), String> {
        if A::Kept::WIDTH == 0 {
            return Ok(()); // no host asks
        }
        let said = |e: Refused| format!("in one call: {}", e.message);
        let fresh = self.fresh().map_err(said)?;
        let mut now = [fresh.clone(), fresh.clone()];
        let mut a = Agenda::new(now.to_vec());
        let mut want = Vec::new();
        for (i, r) in records.iter().enumerate() {
            let of = i % 2;
            a.record(of, <A::Record as Record<'a>>::values(r.clone()));
            now[of] = self.add(&now[of], std::slice::from_ref(r)).map_err(said)?;
            if i % 3 == 0 {
                a.result(of);
                want.push(self.values(&now[of]).map_err(said)?.0);
            }
            if i == records.len() / 2 {
                a.reset(0);
                now[0] = fresh.clone();
            }
        }
        a.merge(1, 0);
        now[1] = self.merge(&now[1], &now[0]).map_err(said)?;
        a.result(1);
        want.push(self.values(&now[1]).map_err(said)?.0);
        let mut rows = Vec::new();
        let accs = loop {
            let got = self.apply(&a, None).map_err(said)?;
            rows.extend(got.rows);
            if got.done == a.ops.len() {
                break got.accs;
            }
            assert!(got.done > 0, "a result does not fit into the arena");
            a = a.behind(got.done, got.accs);
        };
        if accs[1] != now[1] {
            return Err(format!("in one call: accumulator is {:?}, not {:?} as by single calls", accs[1], now[1]));
        }
        match rows.iter().zip(&want).position(|(got, want)| got.iter().zip(want).any(|(a, b)| !a.same(b))) {
            Some(i) => Err(format!("in one call: result {} is {:?}, not {:?} as by single calls", i, rows[i], want[i])),
            None => Ok(()),
        }
    }
}

fn kinds<A: Aggregate>() -> Vec<Kind> {
    A::Row::FIELDS.iter().map(|f| f.kind).collect()
}
