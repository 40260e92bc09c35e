//! A plug-in, a watermark generator that finds out by itself how far records are out of
//! order: it lags behind the highest time by twice the most that any record so far has been
//! behind, and at least by slack. A record that says that it ends a stretch, such as a flush
//! at the end of a file, moves time up to itself at once.
//!
//! A job that knows its bound should say so: this one pays for each new extreme with late
//! records.

use tidemark::{Refusal, Slot, Timestamp, Watermarks};

tidemark::record! { struct Reading<'a> { kind: Option<&'a str> } }
tidemark::params! { struct Params { slack: i64 = 1000, flush: String = String::from("flush") } }

tidemark::plain! {
    /// What the generator knows of a split.
    struct Seen {
        high: i64,
        /// The most that a record was behind, in ms.
        worst: i64,
    }
}

struct Adaptive;

impl Watermarks for Adaptive {
    const NAME: &'static str = "adaptive";
    const VERSION: &'static str = "1.0.0";

    type Record = Reading<'static>;
    type Params = Params;
    type State = Seen;

    fn configure(p: &Params) -> Result<(), Refusal> {
        match p.slack {
            0.. => Ok(()),
            _ => Err("slack must not be negative".into()),
        }
    }

    fn record(state: &mut Slot<Seen>, time: Timestamp, r: Reading, p: &Params) -> Result<Option<Timestamp>, Refusal> {
        let mut seen = state.get().unwrap_or(Seen { high: time.0, worst: 0 });
        if time.0 > seen.high {
            seen.high = time.0;
        } else {
            seen.worst = seen.worst.max(seen.high.wrapping_sub(time.0));
        }
        state.set(seen);
        if r.kind == Some(&p.flush) {
            return Ok(Some(time));
        }
        let lag = p.slack.max(seen.worst.wrapping_mul(2));
        Ok(Some(Timestamp(seen.high.wrapping_sub(lag).wrapping_sub(1))))
    }
}

tidemark::plugin!(Adaptive: Watermarks);

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark::{Timed, WatermarksTwin};

    fn at(ms: i64, kind: Option<&str>) -> Timed<Reading<'_>> {
        Timed::at(ms, Reading { kind })
    }

    fn said(ms: &[i64]) -> Vec<Option<Timestamp>> {
        ms.iter().map(|&ms| Some(Timestamp(ms))).collect()
    }

    #[test]
    fn it_lags_by_what_it_has_seen() {
        let mut t = WatermarksTwin::<Adaptive>::new(&[("slack", 100.into())]).unwrap();
        // Slack 100 until a record is 80 behind: from there on it is 160, and with one that
        // is 300 behind 600. A flush moves time to itself; the next record says what it
        // would.
        let first = [at(1000, None), at(1200, None), at(1150, None), at(1120, None), at(1500, Some("other"))];
        t.laws(&first).unwrap();
        assert_eq!(t.show(&first).unwrap(), said(&[899, 1099, 1099, 1039, 1339]));
        assert_eq!(t.state(), [1500i64.to_le_bytes(), 80i64.to_le_bytes()].concat());
        let second = [at(1200, None), at(1400, Some("flush")), at(3000, None)];
        t.laws(&second).unwrap();
        assert_eq!(t.show(&second).unwrap(), said(&[899, 1400, 2399]));
        assert_eq!(t.tick(1 << 40).unwrap(), None);
    }

    #[test]
    fn slack_is_not_negative() {
        let refused = WatermarksTwin::<Adaptive>::new(&[("slack", Into::into(-1))]).err().unwrap();
        assert_eq!(refused.message, "slack must not be negative");
        assert!(WatermarksTwin::<Adaptive>::new(&[("slack", 0.into())]).is_ok());
    }
}
