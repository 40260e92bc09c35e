//! A plug-in, a window assigner: sessions whose gap each record brings along.

use tidemark::{Assigned, Assigner, Refusal, Timestamp};

tidemark::record! { struct Event { gap_ms: Option<i64> } }
tidemark::params! { struct Params { gap_ms: i64 = 60_000 } }

struct OwnGap;

/// Refuses what is no gap.
fn gap(ms: i64) -> Result<i64, Refusal> {
    match ms {
        1.. => Ok(ms),
        _ => Err("gap_ms must be at least 1".into()),
    }
}

impl Assigner for OwnGap {
    const NAME: &'static str = "own_gap";
    const VERSION: &'static str = "1.0.0";
    const MERGES: bool = true;

    type Record = Event;
    type Params = Params;

    fn configure(p: &Params) -> Result<(), Refusal> {
        gap(p.gap_ms).map(|_| ())
    }

    fn assign(r: &Assigned<Self>, p: &Params) -> Result<(), Refusal> {
        let gap = gap(r.record.gap_ms.unwrap_or(p.gap_ms))?;
        r.window(r.time, Timestamp(r.time.0.saturating_add(gap)));
        Ok(())
    }
}

tidemark::plugin!(OwnGap: Assigner);

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark::{AssignerTwin, Refused, Timed};

    fn at(ms: i64, gap_ms: Option<i64>) -> Timed<Event> {
        Timed::at(ms, Event { gap_ms })
    }

    #[test]
    fn the_gap_is_the_records_own() {
        let t = AssignerTwin::<OwnGap>::new(&[("gap_ms", 500.into())]).unwrap();
        let records = [at(1000, None), at(1000, Some(1)), at(-7, Some(30)), at(i64::MAX - 1, Some(30))];
        let window = |start, end| vec![(Timestamp(start), Timestamp(end))];
        let want = [window(1000, 1500), window(1000, 1001), window(-7, 23), window(i64::MAX - 1, i64::MAX)];
        assert_eq!(t.show(&records).unwrap(), want);
        t.laws(&records).unwrap();
        let default = AssignerTwin::<OwnGap>::new(&[]).unwrap();
        assert_eq!(default.show(&[at(0, None)]).unwrap(), [window(0, 60_000)]);
    }

    #[test]
    fn no_gap_is_refused() {
        let t = AssignerTwin::<OwnGap>::new(&[]).unwrap();
        for gap in [0, -1, i64::MIN] {
            let refused = t.show(&[at(0, None), at(0, Some(gap))]).unwrap_err();
            assert_eq!(refused, Refused { op: Some(1), message: "gap_ms must be at least 1".into() });
        }
        let refused = AssignerTwin::<OwnGap>::new(&[("gap_ms", 0.into())]).err().unwrap();
        assert_eq!(refused, Refused { op: None, message: "gap_ms must be at least 1".into() });
    }
}
