//! Accumulators that vary in size: decoded, changed, encoded.

use crate::aggregate::{Aggregate, Answers, Call, Kept};
use crate::apply::Agenda;
use crate::column::Record;
use crate::frame::Status;
use crate::refusal::Refusal;
use crate::upgrade;

/// Accumulators that vary in size: sets, sketches, lists. What the host keeps is what
/// [`Encode`] wrote.
pub struct Varying;

/// An accumulator that can be written as bytes and read back.
pub trait Encode: Sized {
    /// Appends the accumulator, at most 1 MiB. Where it appends nothing, the accumulator
    /// is a fresh one.
    fn encode(self, to: &mut Vec<u8>);
    /// Reads what encode wrote.
    fn decode(from: &[u8]) -> Result<Self, Refusal>;
}

impl<A: Aggregate + Encode> Kept<A> for Varying {
    const WIDTH: usize = 0;

    fn create(c: &Call<'_, A>) -> Option<Status> {
        let mut scratch = Vec::new();
        for i in 0..c.frame.header().groups as usize {
            c.frame.at_op(i);
            if let Some(ended) = answer(c, i, A::fresh(c.params), &mut scratch) {
                return Some(ended);
            }
        }
        Some(Status::Ok)
    }

    fn add(c: &Call<'_, A>) -> Option<Status> {
        let groups = c.frame.group_of()?;
        let mut accs: Vec<A> = (0..c.frame.header().groups).map(|_| A::fresh(c.params)).collect();
        let columns = A::Record::bound(c.columns);
        // The record path. The columns have the row.
        for (i, &g) in groups.iter().enumerate() {
            c.frame.at_op(i);
            if let Err(e) = accs[g as usize].add(unsafe { A::Record::read(&columns, i) }, c.params) {
                return Some(c.frame.refuse(e.text()));
            }
        }
        c.frame.at_op(groups.len()); // section 3: no record, the accumulators are being answered
        let mut scratch = Vec::new();
        for (i, acc) in accs.into_iter().enumerate() {
            if let Some(ended) = answer(c, i, acc, &mut scratch) {
                return Some(ended);
            }
        }
        Some(Status::Ok)
    }

    fn merge(c: &Call<'_, A>) -> Option<Status> {
        let h = c.frame.header();
        let (accs, from) = (c.frame.pieces(h.acc, h.groups as usize)?, c.frame.pieces(h.from, h.groups as usize)?);
        let mut scratch = Vec::new();
        for i in 0..h.groups as usize {
            c.frame.at_op(i);
            let merged = || -> Result<A, Refusal> {
                let mut acc = decode(c, accs.at(i))?;
                acc.merge(decode(c, from.at(i))?, c.params)?;
                Ok(acc)
            };
            match merged() {
                Err(e) => return Some(c.frame.refuse(e.text())),
                Ok(acc) => {
                    if let Some(ended) = answer(c, i, acc, &mut scratch) {
                        return Some(ended);
                    }
                }
            }
        }
        Some(Status::Ok)
    }

    fn result(c: &Call<'_, A>, out: &mut Answers<'_, A>) -> Option<Status> {
        let h = c.frame.header();
        let accs = c.frame.pieces(h.acc, h.groups as usize)?;
        for i in 0..h.groups as usize {
            c.frame.at_op(i);
            if let Some(ended) = out(i, i, decode(c, accs.at(i)).and_then(|acc| acc.result(c.params))) {
                return Some(ended);
            }
        }
        Some(Status::Ok)
    }

    fn apply(_: &Call<'_, A>, _: &Agenda<'_>, _: &mut Answers<'_, A>) -> Option<Status> {
        None // the manifest does not offer it
    }
}

fn decode<A: Aggregate + Encode>(c: &Call<'_, A>, bytes: &[u8]) -> Result<A, Refusal> {
    if bytes.is_empty() {
        return Ok(A::fresh(c.params)); // encode had nothing to say
    }
    A::decode(bytes)
}

/// Appends accumulator i to the output area; Some: the call ends here.
fn answer<A: Aggregate + Encode>(c: &Call<'_, A>, i: usize, acc: A, scratch: &mut Vec<u8>) -> Option<Status> {
    scratch.clear();
    acc.encode(scratch);
    upgrade::answer(&c.frame, i, scratch)
}
