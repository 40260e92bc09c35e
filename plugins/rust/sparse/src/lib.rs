//! A plug-in, a watermark generator that speaks at every n-th record of a split: no record
//! below the highest time so far is to come. It shows how the state of a generator is
//! upgraded.

use tidemark::{Refusal, Slot, Timestamp, Upgrade, Watermarks};

tidemark::params! { struct Params { n: i64 = 2 } }

tidemark::plain! {
    /// What the generator knows of a split, schema 2.
    struct Split {
        high: i64,
        records: i64, // since it spoke last
    }
}
tidemark::plain! {
    /// Schema 1 spoke at every record.
    struct Highest { high: i64 }
}

impl TryFrom<Highest> for Split {
    type Error = Refusal;
    fn try_from(old: Highest) -> Result<Split, Refusal> {
        match old.high {
            0.. => Ok(Split { high: old.high, records: 0 }),
            _ => Err("the highest time is below 0".into()),
        }
    }
}

struct Sparse;

impl Watermarks for Sparse {
    const NAME: &'static str = "sparse";
    const VERSION: &'static str = "2.0.0";
    const SCHEMA: u32 = 2;
    const UPGRADES: &'static [Upgrade] = &[Upgrade::plain::<Highest, Split>(1)];

    type Record = ();
    type Params = Params;
    type State = Split;

    fn configure(p: &Params) -> Result<(), Refusal> {
        match p.n {
            1.. => Ok(()),
            _ => Err("n must be at least 1".into()),
        }
    }

    fn record(state: &mut Slot<Split>, time: Timestamp, _: (), p: &Params) -> Result<Option<Timestamp>, Refusal> {
        let mut s = state.get().unwrap_or(Split { high: time.0, records: 0 });
        s.high = s.high.max(time.0);
        s.records += 1;
        let speaks = s.records >= p.n;
        if speaks {
            s.records = 0;
        }
        state.set(s);
        Ok(speaks.then(|| Timestamp(s.high.wrapping_sub(1))))
    }
}

tidemark::plugin!(Sparse: Watermarks);

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark::{Timed, WatermarksTwin};

    #[test]
    fn older_states_become_those_of_today() {
        let t = WatermarksTwin::<Sparse>::new(&[]).unwrap();
        assert_eq!(t.upgrade(1, &261i64.to_le_bytes()).unwrap(), [5, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(t.upgrade(1, &i64::MIN.to_le_bytes()).unwrap_err().message, "the highest time is below 0");
    }

    #[test]
    fn every_second_record_speaks() {
        let mut t = WatermarksTwin::<Sparse>::new(&[]).unwrap();
        let records = [10, 5, 30, 20, 7].map(|ms| Timed::at(ms, ()));
        t.laws(&records).unwrap();
        assert_eq!(t.show(&records).unwrap(), [None, Some(Timestamp(9)), None, Some(Timestamp(29)), None]);
        let refused = WatermarksTwin::<Sparse>::new(&[("n", 0.into())]).err().unwrap();
        assert_eq!(refused.message, "n must be at least 1");
    }
}
