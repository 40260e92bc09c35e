//! Upgrades: what a plug-in has kept in a layout that it had once, in that of today.

use crate::fixed::Plain;
use crate::frame::{Frame, Status, ACC_BYTES};
use crate::list::Block;
use crate::refusal::Refusal;
use std::mem::{size_of, MaybeUninit};

/// What a state is that is upgraded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptOf {
    Accumulator = 0,
    /// Of a process function.
    Key = 1,
    /// Of a process function or a trigger.
    Window = 2,
    /// Of a watermark generator.
    Split = 3,
}

impl KeptOf {
    fn of(number: u32) -> Option<KeptOf> {
        [KeptOf::Accumulator, KeptOf::Key, KeptOf::Window, KeptOf::Split].get(number as usize).copied()
    }
}

/// An older layout of what a plug-in keeps, and how to make today's of it: a job goes on from
/// a checkpoint that an older version of the plug-in has written. Without it a changed layout,
/// which has another SCHEMA, means that such a state is given up. Each is from one older
/// schema, and they are not chained: to go from 1 to 3 takes one from 1. An Err ends the start
/// of the job, whose checkpoint stays as it is.
///
/// ```
/// use tidemark::{Aggregate, Fixed, Refusal, Upgrade};
///
/// tidemark::record! { struct Order { price: f64 } }
/// tidemark::row! { struct Answer { total: f64, count: i64 } }
/// tidemark::plain! { struct TallyV1 { total: f64 } } // as it was with SCHEMA = 1
/// tidemark::plain! { struct Tally { total: f64, count: i64 } }
///
/// impl TryFrom<TallyV1> for Tally {
///     type Error = Refusal;
///     fn try_from(old: TallyV1) -> Result<Tally, Refusal> {
///         Ok(Tally { total: old.total, count: -1 }) // nobody has counted them
///     }
/// }
///
/// impl Aggregate for Tally {
///     const NAME: &'static str = "tally";
///     const VERSION: &'static str = "2.0.0";
///     const SCHEMA: u32 = 2;
///     const UPGRADES: &'static [Upgrade] = &[Upgrade::plain::<TallyV1, Tally>(1)];
///     type Record = Order;
///     type Row = Answer;
///     type Params = ();
///     type Kept = Fixed;
///     // …
/// #   fn add(&mut self, _: Order, _: &()) -> Result<(), Refusal> { Ok(()) }
/// #   fn merge(&mut self, _: Self, _: &()) -> Result<(), Refusal> { Ok(()) }
/// #   fn result(&self, _: &()) -> Result<Answer, Refusal> { Ok(Answer { total: self.total, count: self.count }) }
/// }
/// ```
#[derive(Clone, Copy)]
pub struct Upgrade {
    pub(crate) schema: u32,
    pub(crate) width: usize, // of old accumulators of a fixed size
    convert: fn(KeptOf, &[u8]) -> Result<Vec<u8>, Refusal>,
}

impl Upgrade {
    /// From structs of `plain!` that are accumulators of [`Fixed`](crate::Fixed), or states.
    pub const fn plain<Old: Plain, New: Plain + TryFrom<Old, Error = Refusal>>(schema: u32) -> Upgrade {
        Upgrade { schema, width: padded(size_of::<Old>()), convert: convert_plain::<Old, New> }
    }

    /// From bytes: accumulators of [`Varying`](crate::Varying), or states of
    /// [`Bytes`](crate::Bytes), which are not to become empty.
    pub const fn bytes(schema: u32, rewrite: fn(KeptOf, &[u8]) -> Result<Vec<u8>, Refusal>) -> Upgrade {
        Upgrade { schema, width: 0, convert: rewrite }
    }
}

/// Bytes that a host keeps of an accumulator of a fixed size.
pub(crate) const fn padded(size: usize) -> usize {
    (size + 7) & !7
}

fn convert_plain<Old: Plain, New: Plain + TryFrom<Old, Error = Refusal>>(what: KeptOf, old: &[u8]) -> Result<Vec<u8>, Refusal> {
    let size = |n| if what == KeptOf::Accumulator { padded(n) } else { n };
    if old.len() != size(size_of::<Old>()) {
        return Err("a state of an older schema has another size than its type".into());
    }
    let mut was = MaybeUninit::<Old>::uninit();
    // Of a plain type every sequence of bytes is a value, and it has no padding.
    let now = unsafe {
        was.as_mut_ptr().cast::<u8>().copy_from_nonoverlapping(old.as_ptr(), size_of::<Old>());
        New::try_from(was.assume_init())?
    };
    let mut bytes = unsafe { std::slice::from_raw_parts((&now as *const New).cast::<u8>(), size_of::<New>()) }.to_vec();
    bytes.resize(size(size_of::<New>()), 0);
    Ok(bytes)
}

/// Serves a call. width is that of accumulators of a fixed size, 0 of all else.
pub(crate) fn serve(f: Frame, upgrades: &[Upgrade], width: usize) -> Option<Status> {
    let block = Block::of(&f)?;
    let states = f.pieces(f.header().acc, f.header().groups as usize)?;
    let what = KeptOf::of(block.keys)?;
    if upgrades.is_empty() {
        return None; // the manifest does not offer it
    }
    let upgrade = upgrades.iter().find(|u| u.schema == block.items); // the schema
    for i in 0..f.header().groups as usize {
        f.at_op(i);
        let now = match upgrade {
            Some(u) => (u.convert)(what, states.at(i)),
            None => Err("the host asks for an upgrade that the plug-in does not have".into()),
        };
        match now {
            Err(e) => return Some(f.refuse(e.text())),
            Ok(now) if width > 0 && now.len() != width => {
                return Some(f.refuse("an upgraded accumulator has another size than the accumulators of today"))
            }
            Ok(now) => {
                if let Some(ended) = answer(&f, i, &now) {
                    return Some(ended);
                }
            }
        }
    }
    Some(Status::Ok)
}

/// Appends piece i, an accumulator or an upgraded state, to the output area; Some: the call
/// ends here.
pub(crate) fn answer(f: &Frame, i: usize, bytes: &[u8]) -> Option<Status> {
    if bytes.len() > ACC_BYTES {
        return Some(f.refuse("accumulator is longer than 1 MiB"));
    }
    let padding = &[0; 3][..(4 - bytes.len() % 4) % 4];
    let fits = f.append(&[&(bytes.len() as u32).to_le_bytes(), bytes, padding]);
    (!fits).then(|| f.full(i))
}
