//! The twins' upgrades.

use crate::aggregate::{Aggregate, AggregateOf};
use crate::frame::Status;
use crate::list::Block;
use crate::plugin::{Op, Plugin};
use crate::process::{Process, ProcessOf};
use crate::trigger::{Trigger, TriggerOf};
use crate::twin::{Acc, Call, ProcessTwin, Refused, TriggerTwin, Twin, WatermarksTwin};
use crate::upgrade::KeptOf;
use crate::value::Value;
use crate::watermark::{Watermarks, WatermarksOf};

impl<A: Aggregate> Twin<A> {
    /// Upgrades an accumulator of an older schema. Panics where what comes of it depends on
    /// what was upgraded before.
    pub fn upgrade(&self, schema: u32, old: &[u8]) -> Result<Acc, Refused> {
        upgraded::<AggregateOf<A>>(&self.args, schema, KeptOf::Accumulator, old).map(Acc)
    }
}

impl<P: Process> ProcessTwin<P> {
    /// Upgrades a state of an older schema, of a key or of a window, as Twin's does.
    pub fn upgrade(&self, schema: u32, what: KeptOf, old: &[u8]) -> Result<Vec<u8>, Refused> {
        upgraded::<ProcessOf<P>>(&self.args, schema, what, old)
    }
}

impl<T: Trigger> TriggerTwin<T> {
    /// Upgrades a state of an older schema, as Twin's does.
    pub fn upgrade(&self, schema: u32, old: &[u8]) -> Result<Vec<u8>, Refused> {
        upgraded::<TriggerOf<T>>(&self.args, schema, KeptOf::Window, old)
    }
}

impl<W: Watermarks> WatermarksTwin<W> {
    /// Upgrades a state of an older schema, as Twin's does.
    pub fn upgrade(&self, schema: u32, old: &[u8]) -> Result<Vec<u8>, Refused> {
        upgraded::<WatermarksOf<W>>(&self.args, schema, KeptOf::Split, old)
    }
}

/// Lays out a frame with some states.
pub(crate) fn states<P: Plugin>(args: &[Value], schema: u32, what: u32, states: &[&[u8]]) -> Result<Call<P>, Refused> {
    let mut c = Call::<P>::new(args)?;
    let acc = c.w.pieces(states);
    let block = c.w.plain(&[Block { items: schema, keys: what, ..Block::default() }]);
    let h = c.w.header();
    (h.groups, h.acc, h.block) = (states.len() as u32, acc, block);
    Ok(c)
}

/// Upgrades a state alone, and behind others like it, which must not make a difference.
fn upgraded<P: Plugin>(args: &[Value], schema: u32, what: KeptOf, old: &[u8]) -> Result<Vec<u8>, Refused> {
    let last_of = |n: usize| -> Result<Vec<u8>, Refused> {
        let mut c = states::<P>(args, schema, what as u32, &vec![old; n])?;
        assert_eq!(c.serve(Op::Upgrade, None)?, Status::Ok, "the upgraded state does not fit into the arena");
        Ok(answered(&mut c, n).pop().expect("BUG: no state"))
    };
    let (alone, behind) = (last_of(1), last_of(3));
    assert_eq!(alone, behind, "a state becomes something else behind others: an upgrade must keep nothing");
    let now = alone?;
    assert!(what == KeptOf::Accumulator || !now.is_empty(), "a state becomes empty: hosts do not take that");
    Ok(now)
}

/// Reads the first n states of an answer.
pub(crate) fn answered<P: Plugin>(c: &mut Call<P>, n: usize) -> Vec<Vec<u8>> {
    let h = *c.w.header();
    let mut at = h.out as usize;
    let all = (0..n)
        .map(|_| {
            let size = c.w.number(at) as usize;
            let state = c.w.read(at + 4, size).to_vec();
            at += 4 + (size + 3) / 4 * 4;
            state
        })
        .collect();
    assert_eq!(at, (h.out + h.out_used) as usize, "BUG: bytes of answer");
    all
}
