//! A plug-in, a trigger that fires a window at its end, at every n-th record, and some time
//! after the first record that has not been fired yet, whichever comes first. It does what
//! the built-in trigger of the same name does, and shows how: with a state, timers of both
//! domains, and a merge.

use tidemark::Verdict::{Continue, Fire};
use tidemark::{Domain, Pane, Refusal, Slot, Timestamp, Trigger, Verdict};

tidemark::params! { struct Params { n: i64, after_ms: i64, by_the_clock: Option<bool> } }

impl Params {
    /// The time that the timeout goes by.
    fn domain(&self) -> Domain {
        match self.by_the_clock {
            Some(true) => Domain::ProcessingTime,
            _ => Domain::EventTime,
        }
    }
}

tidemark::plain! {
    /// What the trigger knows of a window: the records since the last firing, and when the
    /// timeout is that the first of them has armed.
    struct Waiting {
        records: i64,
        armed: u64, // 0 or 1
        at: i64,
    }
}

struct CountOrTimeout;

type Window<'a> = Pane<'a, CountOrTimeout>;

/// Takes back the timeout. One that coincides with the window's end leaves that one's timer
/// alone.
fn disarm(pane: &mut Window, w: Waiting, p: &Params) {
    if w.armed != 0 && (p.domain() != Domain::EventTime || w.at != pane.last().0) {
        pane.delete_timer(p.domain(), Timestamp(w.at));
    }
}

/// Begins anew after a firing.
fn begin(pane: &mut Window, w: Waiting, p: &Params) {
    disarm(pane, w, p);
    pane.state.clear();
}

impl Trigger for CountOrTimeout {
    const NAME: &'static str = "count_or_timeout";
    const VERSION: &'static str = "1.0.0";
    const MERGES: bool = true;

    type Record = ();
    type Params = Params;
    type State = Waiting;

    fn configure(p: &Params) -> Result<(), Refusal> {
        match (p.n, p.after_ms) {
            (1.., 1..) => Ok(()),
            (1.., _) => Err("after_ms must be at least 1".into()),
            _ => Err("n must be at least 1".into()),
        }
    }

    fn element(pane: &mut Window, time: Option<Timestamp>, _: (), p: &Params) -> Result<Verdict, Refusal> {
        let mut w = pane.state.get().unwrap_or_default();
        if pane.last() <= pane.watermark {
            begin(pane, w, p); // late, but allowed: an update at once
            return Ok(Fire);
        }
        pane.set_timer(Domain::EventTime, pane.last());
        w.records += 1;
        if w.records >= p.n {
            begin(pane, w, p);
            return Ok(Fire);
        }
        if w.armed == 0 {
            let from = match p.domain() {
                Domain::EventTime => time.map_or(i64::MIN, |t| t.0),
                Domain::ProcessingTime => pane.now.0,
            };
            w.armed = 1;
            w.at = from.saturating_add(p.after_ms);
            pane.set_timer(p.domain(), Timestamp(w.at));
        }
        pane.state.set(w);
        Ok(Continue)
    }

    fn timer(pane: &mut Window, domain: Domain, at: Timestamp, p: &Params) -> Result<Verdict, Refusal> {
        let w = pane.state.get().unwrap_or_default();
        if domain == Domain::EventTime && at == pane.last() {
            begin(pane, w, p);
            return Ok(Fire);
        }
        if domain == p.domain() && w.armed != 0 && at.0 == w.at {
            pane.state.clear();
            return Ok(Fire);
        }
        Ok(Continue)
    }

    fn clear(pane: &mut Window, p: &Params) -> Result<(), Refusal> {
        let w = pane.state.get().unwrap_or_default();
        begin(pane, w, p);
        pane.delete_timer(Domain::EventTime, pane.last());
        Ok(())
    }

    /// Takes over the records of another session, and the earlier one of two timeouts.
    fn merge(pane: &mut Window, old: &Slot<Waiting>, p: &Params) -> Result<(), Refusal> {
        let (mut w, old) = (pane.state.get().unwrap_or_default(), old.get().unwrap_or_default());
        w.records += old.records;
        if old.armed != 0 && (w.armed == 0 || old.at < w.at) {
            disarm(pane, w, p);
            w.armed = 1;
            w.at = old.at;
            pane.set_timer(p.domain(), Timestamp(w.at));
        }
        pane.state.set(w);
        if pane.last() > pane.watermark {
            pane.set_timer(Domain::EventTime, pane.last());
        }
        Ok(())
    }
}

tidemark::plugin!(CountOrTimeout: Trigger);

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark::Domain::{EventTime, ProcessingTime};
    use tidemark::{Timed, TriggerTwin, Value};

    fn twin(args: &[(&str, Value)]) -> TriggerTwin<CountOrTimeout> {
        TriggerTwin::new(args).unwrap()
    }

    fn records(times: &[i64]) -> Vec<Timed<()>> {
        times.iter().map(|&ms| Timed::at(ms, ())).collect()
    }

    /// By event time: the first record and the first behind each firing arm the timeout.
    #[test]
    fn firings() {
        let t = twin(&[("n", 3.into()), ("after_ms", 50.into())]);
        let mut p = t.pane(0, 1000);
        p.laws(&records(&[100, 110, 120, 130, 131, 132, 133])).unwrap();
        assert_eq!(p.elements(&records(&[100, 110, 120, 130])).unwrap(), [Continue, Continue, Fire, Continue]);
        assert_eq!(p.timers(EventTime), [180, 999]); // that of 100 is taken back
        assert_eq!(p.state(), [1i64, 1, 180].map(i64::to_le_bytes).concat());
        assert_eq!(p.timer(EventTime, 150).unwrap(), Continue);
        assert_eq!(p.timer(EventTime, 180).unwrap(), Fire);
        assert_eq!(p.state(), b"");
        assert_eq!(p.elements(&records(&[949])).unwrap(), [Continue]); // would time out at the window's end
        assert_eq!(p.timers(EventTime), [999]);
        assert_eq!(p.timer(EventTime, 999).unwrap(), Fire);
        assert_eq!(p.timers(EventTime), []);
    }

    #[test]
    fn a_late_record_fires_at_once() {
        let t = twin(&[("n", 3.into()), ("after_ms", 50.into())]);
        t.watermark.set(999);
        let mut p = t.pane(0, 1000);
        assert_eq!(p.elements(&records(&[1, 2])).unwrap(), [Fire, Fire]);
        assert_eq!(p.timers(EventTime), []);
    }

    #[test]
    fn by_the_clock() {
        let t = twin(&[("n", 2.into()), ("after_ms", 50.into()), ("by_the_clock", true.into())]);
        t.now.set(7000);
        let mut p = t.pane(0, 1000);
        assert_eq!(p.elements(&records(&[100])).unwrap(), [Continue]);
        assert_eq!((p.timers(ProcessingTime), p.timers(EventTime)), (vec![7050], vec![999]));
        assert_eq!(p.timer(ProcessingTime, 7050).unwrap(), Fire);
        assert_eq!(p.elements(&records(&[101, 102])).unwrap(), [Continue, Fire]);
        assert_eq!(p.timers(ProcessingTime), []);
        p.clear().unwrap();
        assert_eq!(p.timers(EventTime), []);
    }

    /// Two sessions become one: it has the records of both and the earlier timeout.
    #[test]
    fn sessions() {
        let t = twin(&[("n", 4.into()), ("after_ms", 50.into())]);
        let (mut a, mut b, mut both) = (t.pane(100, 200), t.pane(210, 310), t.pane(100, 310));
        assert_eq!(a.elements(&records(&[100])).unwrap(), [Continue]);
        assert_eq!(b.elements(&records(&[210, 211])).unwrap(), [Continue, Continue]);
        both.merge(&b).unwrap();
        both.merge(&a).unwrap();
        assert_eq!(both.timers(EventTime), [150, 309]);
        assert_eq!(both.timer(EventTime, 260).unwrap(), Continue); // the later one was taken back
        assert_eq!(both.elements(&records(&[205])).unwrap(), [Fire]);
        assert_eq!(both.timers(EventTime), [309]);
    }

    /// In a global window, and at the end of time, sums do not overflow.
    #[test]
    fn the_end_of_time() {
        let t = twin(&[("n", 9.into()), ("after_ms", i64::MAX.into())]);
        let mut p = t.pane(i64::MIN, i64::MAX);
        assert_eq!(p.elements(&records(&[5])).unwrap(), [Continue]);
        assert_eq!(p.timers(EventTime), [i64::MAX]);
        let mut p = t.pane(i64::MIN, i64::MAX);
        assert_eq!(p.elements(&[Timed::never(())]).unwrap(), [Continue]);
        assert_eq!(p.timers(EventTime), [-1, i64::MAX]); // -2^63, for no time, and after_ms
    }

    #[test]
    fn arguments() {
        for (n, after, want) in [(0, 1, "n must be at least 1"), (1, 0, "after_ms must be at least 1"), (0, 0, "n must be at least 1")] {
            let refused = TriggerTwin::<CountOrTimeout>::new(&[("n", n.into()), ("after_ms", after.into())]).err().unwrap();
            assert_eq!(refused.message, want);
        }
    }
}
