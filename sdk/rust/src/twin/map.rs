//! The twin of functions of single records.

use crate::column::Record;
use crate::list::{rows, Block, Timed};
use crate::map::{Map, MapOf};
use crate::output::Rows;
use crate::plugin::Op;
use crate::twin::items::{laws, row_of, show, Items};
use crate::twin::writer::Writer;
use crate::twin::{arguments, Call, Refused};
use crate::value::Value;
use std::marker::PhantomData;
use std::ops::Range;

/// Drives a function of single records in tests as a host does. Each call is one on a
/// fresh instance.
pub struct MapTwin<M: Map> {
    args: Vec<Value>,
    map: PhantomData<fn(M)>,
}

impl<M: Map> MapTwin<M> {
    /// Configures the function with a job's arguments, by the parameters' names. Panics
    /// where the declaration is wrong or the arguments do not fit it.
    pub fn new(args: &[(&str, Value)]) -> Result<MapTwin<M>, Refused> {
        let args = arguments::<MapOf<M>>(args);
        Call::<MapOf<M>>::new(&args)?;
        Ok(MapTwin { args, map: PhantomData })
    }

    /// Shows the function records in one call, and gives what it makes of each. After a
    /// refusal there is nothing.
    #[allow(clippy::type_complexity)]
    pub fn show<'a>(&self, records: &[Timed<<M::Record as Record<'a>>::Of>]) -> Result<Vec<Vec<<M::Row as Rows<'static>>::Of>>, Refused> {
        let mut made: Vec<Vec<_>> = records.iter().map(|_| Vec::new()).collect();
        for e in show(&Shown::<M>::new(records), &self.args, &mut (), 0..records.len(), None)? {
            made[e.item].push(row_of(&e.body));
        }
        Ok(made)
    }

    /// Checks that what it makes of records does not depend on where a host cuts them into
    /// calls. The error says what does not hold.
    pub fn laws<'a>(&self, records: &[Timed<<M::Record as Record<'a>>::Of>]) -> Result<(), String> {
        laws(&Shown::<M>::new(records), &self.args, &())
    }
}

struct Shown<M> {
    rows: Vec<Vec<Value>>,
    map: PhantomData<M>,
}

impl<M: Map> Shown<M> {
    fn new<'a>(records: &[Timed<<M::Record as Record<'a>>::Of>]) -> Shown<M> {
        Shown { rows: rows::<M::Record>(records.to_vec()), map: PhantomData }
    }
}

impl<M: Map> Items for Shown<M> {
    type Plugin = MapOf<M>;
    type Kept = ();

    fn op(&self) -> Op {
        Op::Map
    }

    fn count(&self) -> usize {
        self.rows.len()
    }

    fn lay(&self, w: &mut Writer, of: Range<usize>, _: &()) -> Block {
        let mut b = Block::default();
        b.lists[0] = w.list(<M::Record as Record<'_>>::FIELDS, &self.rows[of]);
        b
    }
}
