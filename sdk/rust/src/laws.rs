//! The laws of aggregates (abi/SPEC.md, section 6), checked on some records.

use crate::aggregate::{Aggregate, Kept};
use crate::column::Record;
use crate::twin::{Acc, Refused, Twin};
use crate::value::Value;

/// How far numbers may lie apart without EXACT, in parts of the larger.
const ROUNDING: f64 = 1e-9;

impl<A: Aggregate> Twin<A> {
    /// Checks that fresh accumulators are neutral, that parts merged equal the whole
    /// however it is cut, that result changes nothing, that many operations in one call do
    /// what they do one by one, and, if the aggregate says so, that
    /// order does not matter and that equal means equal to the bit. A host believes an
    /// aggregate; a plug-in's tests should not. The error says which law does not hold.
    pub fn laws<'a>(&self, records: &[<A::Record as Record<'a>>::Of]) -> Result<(), String> {
        let fresh = self.fresh().map_err(said("a fresh accumulator"))?;
        let whole = self.add(&fresh, records).map_err(said("all records"))?;
        for cut in 0..=records.len() {
            let what = format!("merged at record {} of {}", cut, records.len());
            let a = self.add(&fresh, &records[..cut]).map_err(said(&what))?;
            let b = self.add(&fresh, &records[cut..]).map_err(said(&what))?;
            self.compare(&whole, self.merge(&a, &b), &what)?;
            if A::ORDER_INSENSITIVE {
                self.compare(&whole, self.merge(&b, &a), &format!("{}, the parts exchanged", what))?;
            }
        }
        let one_by_one = records.iter().try_fold(fresh.clone(), |acc, r| self.add(&acc, std::slice::from_ref(r)));
        self.compare(&whole, one_by_one, "added one by one")?;
        if A::ORDER_INSENSITIVE {
            let mut back = records.to_vec();
            back.reverse();
            self.compare(&whole, self.add(&fresh, &back), "added in reverse")?;
        }
        self.result_changes_nothing(&whole)?;
        self.in_one_call(records)
    }

    /// Compares an accumulator with the one of the whole, as far as the aggregate promises.
    fn compare(&self, whole: &Acc, acc: Result<Acc, Refused>, what: &str) -> Result<(), String> {
        let acc = acc.map_err(said(what))?;
        if A::EXACT && *whole != acc {
            return Err(format!(
                "{}: accumulator is {:?}, not {:?} as in one pass, and the aggregate says that it is exact",
                what, acc, whole
            ));
        }
        let (want, _) = self.values(whole).map_err(said("result of all records"))?;
        let (got, _) = self.values(&acc).map_err(said(what))?;
        if want.iter().zip(&got).any(|(a, b)| !close_enough(a, b, A::EXACT)) {
            return Err(format!("{}: result is {:?}, not {:?} as in one pass", what, got, want));
        }
        Ok(())
    }

    /// Asks twice: `&self` keeps an accumulator from changing, but not from having cells.
    fn result_changes_nothing(&self, acc: &Acc) -> Result<(), String> {
        let (first, after) = self.values(acc).map_err(said("result"))?;
        let (again, _) = self.values(acc).map_err(said("result"))?;
        if first.iter().zip(&again).any(|(a, b)| !a.same(b)) {
            return Err(format!("a second result is {:?}, not {:?}", again, first));
        }
        if A::Kept::WIDTH > 0 && after != *acc {
            return Err(format!("result changed the accumulator from {:?} to {:?}", acc, after));
        }
        Ok(())
    }
}

fn said(what: &str) -> impl Fn(Refused) -> String + '_ {
    move |e| format!("{}: {}", what, e.message)
}

fn close_enough(a: &Value, b: &Value, exact: bool) -> bool {
    match (a, b) {
        (Value::Float64(x), Value::Float64(y)) if !exact => {
            let largest = x.abs().max(y.abs());
            x == y || x.is_nan() && y.is_nan() || largest.is_finite() && (x - y).abs() <= ROUNDING * largest.max(1.0)
        }
        _ => a.same(b),
    }
}
