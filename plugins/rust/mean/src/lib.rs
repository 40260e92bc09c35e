//! A plug-in: count and mean of a column. It shows how the accumulators of a plug-in with a
//! longer past become those of today.

use tidemark::{Aggregate, Fixed, Refusal, Upgrade};

tidemark::record! { struct Record { value: f64 } }
tidemark::row! { struct Row { count: i64, mean: Option<f64> } }

tidemark::plain! {
    /// The accumulator, schema 3.
    struct Sums { count: i64, sum: f64 }
}
tidemark::plain! {
    /// Schema 1 kept the mean itself, and counted in floats.
    struct Means { mean: f64, count: f64 }
}
tidemark::plain! {
    /// Schema 2 kept the smallest value, too.
    struct Lowest { sum: f64, count: i64, min: f64 }
}

impl TryFrom<Means> for Sums {
    type Error = Refusal;
    fn try_from(old: Means) -> Result<Sums, Refusal> {
        let whole = old.count >= 0.0 && old.count < 9_007_199_254_740_992.0 && old.count.fract() == 0.0;
        match whole {
            true => Ok(Sums { count: old.count as i64, sum: old.mean * old.count }),
            false => Err("a count is not a whole number".into()),
        }
    }
}

impl TryFrom<Lowest> for Sums {
    type Error = Refusal;
    fn try_from(old: Lowest) -> Result<Sums, Refusal> {
        Ok(Sums { count: old.count, sum: old.sum })
    }
}

impl Aggregate for Sums {
    const NAME: &'static str = "mean";
    const VERSION: &'static str = "3.0.0";
    const SCHEMA: u32 = 3;
    const UPGRADES: &'static [Upgrade] = &[Upgrade::plain::<Means, Sums>(1), Upgrade::plain::<Lowest, Sums>(2)];
    const ORDER_INSENSITIVE: bool = true;

    type Record = Record;
    type Row = Row;
    type Params = ();
    type Kept = Fixed;

    fn add(&mut self, r: Record, _: &()) -> Result<(), Refusal> {
        self.count += 1;
        self.sum += r.value;
        Ok(())
    }

    fn merge(&mut self, from: Sums, _: &()) -> Result<(), Refusal> {
        self.count += from.count;
        self.sum += from.sum;
        Ok(())
    }

    fn result(&self, _: &()) -> Result<Row, Refusal> {
        Ok(Row { count: self.count, mean: (self.count > 0).then(|| self.sum / self.count as f64) })
    }
}

tidemark::plugin!(Sums);

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark::Twin;

    fn words(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|w| w.to_le_bytes()).collect()
    }

    #[test]
    fn older_accumulators_count_on() {
        let t = Twin::<Sums>::new(&[]).unwrap();
        let first = t.upgrade(1, &words(&[2.5f64.to_bits(), 4f64.to_bits()])).unwrap(); // a mean of 2.5 of 4
        let second = t.upgrade(2, &words(&[7f64.to_bits(), 2, 3f64.to_bits()])).unwrap();
        let acc = t.add(&t.merge(&first, &second).unwrap(), &[Record { value: 4.0 }]).unwrap();
        assert_eq!(t.result(&acc).unwrap(), Row { count: 7, mean: Some(3.0) }); // 10 + 7 + 4 of 7
        assert_eq!(t.result(&t.fresh().unwrap()).unwrap(), Row { count: 0, mean: None });
        for count in [-1.0, 0.5, f64::NAN, f64::INFINITY, 9_007_199_254_740_992.0] {
            let refused = t.upgrade(1, &words(&[0, count.to_bits()])).unwrap_err();
            assert_eq!(refused.message, "a count is not a whole number");
        }
        t.laws(&[Record { value: 1.0 }, Record { value: 2.0 }, Record { value: -4.5 }]).unwrap();
    }
}
