//! A plug-in: count, sum, minimum, maximum and mean of a column.
//!
//! It refuses NaN, which has no place in an order. Without values only count and sum
//! have a meaning, 0; min, max and mean are null.

use tidemark::{Aggregate, Fixed, Refusal};

tidemark::record! { struct Record { value: f64 } }

tidemark::row! {
    struct Row { count: i64, sum: f64, min: Option<f64>, max: Option<f64>, mean: Option<f64> }
}

tidemark::plain! {
    /// The accumulator. min and max mean nothing while count is 0.
    struct Stats { count: i64, sum: f64, min: f64, max: f64 }
}

impl Aggregate for Stats {
    const NAME: &'static str = "stats";
    const VERSION: &'static str = "1.0.0";
    const ORDER_INSENSITIVE: bool = true; // up to the rounding of sum and mean, hence not EXACT

    type Record = Record;
    type Row = Row;
    type Params = ();
    type Kept = Fixed;

    fn add(&mut self, r: Record, _: &()) -> Result<(), Refusal> {
        let v = r.value + 0.0; // makes -0 a 0: which of the two came first must not show
        if v.is_nan() {
            return Err("value is NaN".into());
        }
        if self.count == 0 {
            self.min = v;
            self.max = v;
        } else if v < self.min {
            self.min = v;
        } else if v > self.max {
            self.max = v;
        }
        self.count += 1;
        self.sum += v;
        Ok(())
    }

    fn merge(&mut self, from: Stats, _: &()) -> Result<(), Refusal> {
        if self.count == 0 {
            *self = from;
        } else if from.count > 0 {
            self.count += from.count;
            self.sum += from.sum;
            self.min = self.min.min(from.min);
            self.max = self.max.max(from.max);
        }
        Ok(())
    }

    fn result(&self, _: &()) -> Result<Row, Refusal> {
        let some = |v| if self.count > 0 { Some(v) } else { None };
        Ok(Row { count: self.count, sum: self.sum, min: some(self.min), max: some(self.max), mean: some(self.sum / self.count as f64) })
    }
}

tidemark::plugin!(Stats);

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark::Twin;

    fn values(vs: &[f64]) -> Vec<Record> {
        vs.iter().map(|&value| Record { value }).collect()
    }

    fn row_of(vs: &[f64]) -> Row {
        let t = Twin::<Stats>::new(&[]).unwrap();
        t.result(&t.add(&t.fresh().unwrap(), &values(vs)).unwrap()).unwrap()
    }

    #[test]
    fn results() {
        assert_eq!(row_of(&[]), Row { count: 0, sum: 0.0, min: None, max: None, mean: None });
        assert_eq!(row_of(&[2.5]), Row { count: 1, sum: 2.5, min: Some(2.5), max: Some(2.5), mean: Some(2.5) });
        assert_eq!(row_of(&[3.0, -1.0, 8.0, 2.0]), Row { count: 4, sum: 12.0, min: Some(-1.0), max: Some(8.0), mean: Some(3.0) });
        let inf = f64::INFINITY;
        assert_eq!(row_of(&[inf, 1.0]), Row { count: 2, sum: inf, min: Some(1.0), max: Some(inf), mean: Some(inf) });
    }

    #[test]
    fn a_negative_zero_counts_as_zero() {
        let row = row_of(&[-0.0]);
        for v in [row.sum, row.min.unwrap(), row.max.unwrap(), row.mean.unwrap()] {
            assert!(v == 0.0 && v.is_sign_positive());
        }
    }

    #[test]
    fn nan_is_refused_by_its_record() {
        let t = Twin::<Stats>::new(&[]).unwrap();
        let refused = t.add(&t.fresh().unwrap(), &values(&[1.0, f64::NAN, 2.0])).unwrap_err();
        assert_eq!((refused.op, refused.message.as_str()), (Some(1), "value is NaN"));
    }

    #[test]
    fn laws() {
        let t = Twin::<Stats>::new(&[]).unwrap();
        for vs in [&[][..], &[7.0], &[0.0, -0.0], &[0.1, 0.2, 0.3, 1e6, -4.0], &[5.0, 5.0, -5.0]] {
            t.laws(&values(vs)).unwrap();
        }
    }
}
