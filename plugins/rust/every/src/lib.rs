//! A plug-in, a trigger that fires a window at every n-th record, and at nothing else. It
//! shows how the state of a trigger is upgraded.

use tidemark::{KeptOf, Pane, Refusal, Timestamp, Trigger, Upgrade, Verdict};

tidemark::params! { struct Params { n: i64 = 2 } }

struct Every;

/// Schema 1 wrote the count as a decimal number.
fn from_digits(_: KeptOf, old: &[u8]) -> Result<Vec<u8>, Refusal> {
    if old.is_empty() || old.len() > 9 || !old.iter().all(u8::is_ascii_digit) {
        return Err("a count is no number of 1 to 9 digits".into());
    }
    let count = old.iter().fold(0, |count, digit| 10 * count + i64::from(digit - b'0'));
    Ok(count.to_le_bytes().to_vec())
}

impl Trigger for Every {
    const NAME: &'static str = "every";
    const VERSION: &'static str = "2.0.0";
    const SCHEMA: u32 = 2;
    const UPGRADES: &'static [Upgrade] = &[Upgrade::bytes(1, from_digits)];

    type Record = ();
    type Params = Params;
    type State = i64; // records since the last firing

    fn configure(p: &Params) -> Result<(), Refusal> {
        match p.n {
            1.. => Ok(()),
            _ => Err("n must be at least 1".into()),
        }
    }

    fn element(pane: &mut Pane<Self>, _: Option<Timestamp>, _: (), p: &Params) -> Result<Verdict, Refusal> {
        let count = pane.state.get().unwrap_or(0) + 1;
        if count >= p.n {
            pane.state.clear();
            return Ok(Verdict::Fire);
        }
        pane.state.set(count);
        Ok(Verdict::Continue)
    }
}

tidemark::plugin!(Every: Trigger);

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark::{Timed, TriggerTwin};
    use Verdict::{Continue, Fire};

    #[test]
    fn older_states_become_those_of_today() {
        let t = TriggerTwin::<Every>::new(&[]).unwrap();
        assert_eq!(t.upgrade(1, b"258").unwrap(), [2, 1, 0, 0, 0, 0, 0, 0]);
        for old in ["", "1x", "-1", "1234567890"] {
            assert_eq!(t.upgrade(1, old.as_bytes()).unwrap_err().message, "a count is no number of 1 to 9 digits");
        }
    }

    #[test]
    fn every_third_record_fires() {
        let t = TriggerTwin::<Every>::new(&[("n", 3.into())]).unwrap();
        let records: Vec<_> = (0..7).map(|i| Timed::at(i, ())).collect();
        assert_eq!(t.pane(0, 10).elements(&records).unwrap(), [Continue, Continue, Fire, Continue, Continue, Fire, Continue]);
        let refused = TriggerTwin::<Every>::new(&[("n", 0.into())]).err().unwrap();
        assert_eq!(refused.message, "n must be at least 1");
    }
}
