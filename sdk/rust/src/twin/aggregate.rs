//! The twin of aggregates.

use crate::aggregate::{Aggregate, AggregateOf, Kept};
use crate::column::Record;
use crate::frame::{Header, Status};
use crate::output::Row;
use crate::plugin::Op;
use crate::twin::{arguments, Call, Refused};
use crate::value::{Kind, Value};
use std::marker::PhantomData;

/// Drives an aggregate in tests as a host does.
pub struct Twin<A: Aggregate> {
    pub(super) args: Vec<Value>,
    aggregate: PhantomData<fn(A)>,
}

/// An accumulator as a host keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acc(pub Vec<u8>);

impl<A: Aggregate> Twin<A> {
    /// Configures the aggregate with a job's arguments, by the parameters' names. Panics
    /// where the declaration is wrong or the arguments do not fit it, which no host lets
    /// happen.
    pub fn new(args: &[(&str, Value)]) -> Result<Twin<A>, Refused> {
        let twin = Twin { args: arguments::<AggregateOf<A>>(args), aggregate: PhantomData };
        Folding::<A>::new(&twin.args)?;
        Ok(twin)
    }

    /// Gives an accumulator of no records.
    pub fn fresh(&self) -> Result<Acc, Refused> {
        let mut c = Folding::<A>::new(&self.args)?;
        if A::Kept::WIDTH > 0 {
            c.call.w.head(|h| &mut h.acc, A::Kept::WIDTH);
        }
        c.serve(Op::Create)?;
        Ok(c.answered())
    }

    /// Folds records into an accumulator and gives the new one.
    pub fn add<'a>(&self, acc: &Acc, records: &[<A::Record as Record<'a>>::Of]) -> Result<Acc, Refused> {
        let mut c = Folding::<A>::new(&self.args)?;
        let rows: Vec<Vec<Value>> = records.iter().map(|r| <A::Record as Record<'a>>::values(r.clone())).collect();
        let fields = <A::Record as Record<'a>>::FIELDS;
        let columns: Vec<(Kind, bool)> = fields.iter().map(|f| (f.kind, f.nullable)).collect();
        c.call.w.columns(&columns, &rows);
        c.call.w.head(|h| &mut h.group, 4 * rows.len());
        if A::Kept::WIDTH > 0 {
            c.acc(|h| &mut h.acc, acc);
        }
        c.serve(Op::Add)?;
        let added = c.answered();
        if A::Kept::WIDTH > 0 {
            return Ok(added);
        }
        self.merge(acc, &added)
    }

    /// Gives the accumulator of the records behind acc and then those behind from.
    pub fn merge(&self, acc: &Acc, from: &Acc) -> Result<Acc, Refused> {
        let mut c = Folding::<A>::new(&self.args)?;
        c.acc(|h| &mut h.acc, acc);
        c.acc(|h| &mut h.from, from);
        c.serve(Op::Merge)?;
        Ok(c.answered())
    }

    /// Gives the result row of an accumulator.
    pub fn result(&self, acc: &Acc) -> Result<A::Row, Refused> {
        let (values, _) = self.values(acc)?;
        Ok(A::Row::of(values).expect("BUG: a column that must have a value has none"))
    }

    /// Gives the result row as values, and what became of the accumulator.
    pub(crate) fn values(&self, acc: &Acc) -> Result<(Vec<Value>, Acc), Refused> {
        let mut c = Folding::<A>::new(&self.args)?;
        c.acc(|h| &mut h.acc, acc);
        let kinds: Vec<Kind> = A::Row::FIELDS.iter().map(|f| f.kind).collect();
        c.call.w.outputs(&kinds, 1);
        c.serve(Op::Result)?;
        let after = if A::Kept::WIDTH > 0 { c.answered() } else { acc.clone() };
        Ok((c.call.w.row(&kinds, 0), after))
    }
}

/// A call with one group.
struct Folding<A: Aggregate> {
    call: Call<AggregateOf<A>>,
}

impl<A: Aggregate> Folding<A> {
    fn new(args: &[Value]) -> Result<Folding<A>, Refused> {
        let mut call = Call::new(args)?;
        call.w.header().groups = 1;
        Ok(Folding { call })
    }

    fn acc(&mut self, place: fn(&mut Header) -> &mut u32, acc: &Acc) {
        if A::Kept::WIDTH > 0 {
            assert_eq!(acc.0.len(), A::Kept::WIDTH, "an accumulator of another length");
            let off = self.call.w.head(place, acc.0.len());
            self.call.w.bytes(off, &acc.0);
            return;
        }
        let table = self.call.w.pieces(&[&acc.0]);
        *place(self.call.w.header()) = table;
    }

    /// Reads the accumulator that a call has answered.
    fn answered(&mut self) -> Acc {
        let h = *self.call.w.header();
        if A::Kept::WIDTH > 0 {
            return Acc(self.call.w.read(h.acc as usize, A::Kept::WIDTH).to_vec());
        }
        let n = self.call.w.number(h.out as usize) as usize;
        assert_eq!(h.out_used as usize, 4 + (n + 3) / 4 * 4, "BUG: bytes of answer");
        Acc(self.call.w.read(h.out as usize + 4, n).to_vec())
    }

    fn serve(&mut self, op: Op) -> Result<(), Refused> {
        match self.call.serve(op, None)? {
            Status::Ok => Ok(()),
            _ => panic!("the answer does not fit into the arena"),
        }
    }
}
