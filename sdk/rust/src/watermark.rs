//! Watermark generators: what says how far event time is in a source.

use crate::answer::{Answer, KEY_STATE};
use crate::column::{Columns, Record};
use crate::frame::{Frame, Status};
use crate::list::{Block, Bound};
use crate::manifest::Manifest;
use crate::param::Params;
use crate::plugin::{Op, Plugin};
use crate::refusal::Refusal;
use crate::state::{Slot, State, States};
use crate::upgrade::{self, Upgrade};
use crate::value::Timestamp;
use std::marker::PhantomData;

/// A function that is shown every record of a split of a source, in order, and says how
/// far event time is behind it: Some(t): no record with that time or a lower one is to
/// come; None says nothing. A watermark below an earlier one says nothing, and none goes
/// beyond the highest time of the split. It keeps nothing but its state. An Err ends the
/// job, since there is no time without it.
///
/// ```
/// use tidemark::{Refusal, Slot, Timestamp, Watermarks};
///
/// tidemark::record! { struct Reading { flush: Option<bool> } }
///
/// struct Flushes;
///
/// impl Watermarks for Flushes {
///     const NAME: &'static str = "flushes";
///     const VERSION: &'static str = "1.0.0";
///     type Record = Reading;
///     type Params = ();
///     type State = ();
///
///     fn record(_: &mut Slot<()>, time: Timestamp, r: Reading, _: &()) -> Result<Option<Timestamp>, Refusal> {
///         Ok(if r.flush == Some(true) { Some(time) } else { None })
///     }
/// }
///
/// tidemark::plugin!(Flushes: Watermarks);
/// ```
pub trait Watermarks: Sized {
    /// `[a-z][a-z0-9_-]{0,62}`
    const NAME: &'static str;
    /// Free text of at most 64 bytes.
    const VERSION: &'static str;
    /// Version of the state's layout, to be raised when it changes.
    const SCHEMA: u32 = 1;
    /// The older layouts that it converts from.
    const UPGRADES: &'static [Upgrade] = &[];

    /// Columns of the source's records, beside their times: from `record!`, or `()`.
    type Record: for<'a> Record<'a>;
    /// From `params!`, or `()`.
    type Params: Params;
    /// What is kept of a split: `()`, a struct of `plain!`, or [`Bytes`](crate::Bytes).
    type State: State;

    /// Checks the arguments, once on each instance, before anything else.
    fn configure(_: &Self::Params) -> Result<(), Refusal> {
        Ok(())
    }

    /// Is shown a record.
    fn record(
        state: &mut Slot<'_, Self::State>,
        time: Timestamp,
        r: <Self::Record as Record<'_>>::Of,
        p: &Self::Params,
    ) -> Result<Option<Timestamp>, Refusal>;

    /// Is called by the clock, also when no record comes. What a tick says depends on when
    /// it comes, so there are none where rows must follow from the records alone, in the
    /// replay of bounded input.
    fn tick(_state: &mut Slot<'_, Self::State>, _now: Timestamp, _: &Self::Params) -> Result<Option<Timestamp>, Refusal> {
        Ok(None)
    }
}

crate::row! {
    /// What is answered to a record.
    pub struct Watermark { watermark: Timestamp }
}

/// The plug-in that a watermark generator makes.
#[doc(hidden)]
pub struct WatermarksOf<W>(PhantomData<W>);

impl<W: Watermarks> Plugin for WatermarksOf<W> {
    type Params = W::Params;

    fn configure(p: &W::Params) -> Result<(), Refusal> {
        W::configure(p)
    }

    fn serve(op: Op, f: Frame, _: &mut Columns<'static>, p: &W::Params) -> Option<Status> {
        match op {
            Op::Watermark => serve::<W, W::Record>(&f, |state, time, r| W::record(state, time, r, p)),
            Op::Tick => serve::<W, ()>(&f, |state, time, _| W::tick(state, time, p)),
            Op::Upgrade => upgrade::serve(f, W::UPGRADES, 0),
            _ => None,
        }
    }

    fn manifest() -> Result<String, String> {
        Manifest::new("watermark", W::NAME, W::VERSION)
            .inputs("inputs", <W::Record as Record<'_>>::FIELDS)
            .params(&W::Params::declared())
            .state(W::State::KEPT, W::SCHEMA, W::UPGRADES)
            .done()
    }
}

/// Shows a function the records of a frame.
fn serve<'a, W: Watermarks, R: Record<'a>>(
    f: &'a Frame,
    mut one: impl FnMut(&mut Slot<'a, W::State>, Timestamp, R::Of) -> Result<Option<Timestamp>, Refusal>,
) -> Option<Status> {
    let block = Block::of(f)?;
    let records = Bound::<R>::open(f, &block.lists[0])?;
    let mut states = States::<W::State>::open(f, block.keys, block.nkeys, KEY_STATE)?;
    if records.rows() != f.header().rows || W::State::KEPT && block.nkeys != 1 {
        return None;
    }
    let answer = Answer::new(*f);
    answer.to_each(|i| {
        let r = records.at(i as u32)?;
        let mut state = states.slot(0)?;
        let said = one(&mut state, r.time?, r.record);
        Some(said.map(|watermark| {
            if let Some(watermark) = watermark {
                answer.row(Watermark { watermark });
            }
            states.leave(0, state, &answer);
        }))
    })
}
