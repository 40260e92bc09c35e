//! A plug-in, a process function that counts the firings of each key and of each of its
//! windows. It shows how states are upgraded.

use tidemark::{Firing, KeptOf, Process, Refusal, Upgrade};

tidemark::row! { struct Row { of_key: i64, of_window: i64 } }

struct Visits;

/// Schema 1 counted keys in 4 bytes and windows in one.
fn from_small(what: KeptOf, old: &[u8]) -> Result<Vec<u8>, Refusal> {
    let n = match (what, old) {
        (KeptOf::Key, &[a, b, c, d]) => u32::from_le_bytes([a, b, c, d]),
        (KeptOf::Key, _) => return Err("the count of a key has 4 bytes".into()),
        (_, &[n]) => n.into(),
        _ => return Err("the count of a window has 1 byte".into()),
    };
    Ok(i64::from(n).to_le_bytes().to_vec())
}

impl Process for Visits {
    const NAME: &'static str = "visits";
    const VERSION: &'static str = "2.0.0";
    const SCHEMA: u32 = 2;
    const UPGRADES: &'static [Upgrade] = &[Upgrade::bytes(1, from_small)];

    type Inputs = ();
    type Records = ();
    type Row = Row;
    type Side = ();
    type Params = ();
    type KeyState = i64;
    type WindowState = i64;

    fn process(f: &mut Firing<Self>, _: &()) -> Result<(), Refusal> {
        let (of_key, of_window) = (f.key.get().unwrap_or(0) + 1, f.window.get().unwrap_or(0) + 1);
        f.key.set(of_key);
        f.window.set(of_window);
        f.emit(Row { of_key, of_window });
        Ok(())
    }
}

tidemark::plugin!(Visits: Process);

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark::{Fired, ProcessTwin};

    #[test]
    fn older_states_become_those_of_today() {
        let t = ProcessTwin::<Visits>::new(&[]).unwrap();
        assert_eq!(t.upgrade(1, KeptOf::Key, &[1, 2, 0, 0]).unwrap(), [1, 2, 0, 0, 0, 0, 0, 0]);
        assert_eq!(t.upgrade(1, KeptOf::Window, &[0xff]).unwrap(), [0xff, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(t.upgrade(1, KeptOf::Key, &[1]).unwrap_err().message, "the count of a key has 4 bytes");
        assert_eq!(t.upgrade(1, KeptOf::Window, &[1, 2, 0, 0]).unwrap_err().message, "the count of a window has 1 byte");
    }

    #[test]
    fn firings_are_counted() {
        let mut t = ProcessTwin::<Visits>::new(&[]).unwrap();
        let fired = |key, start| Fired::<Visits>::new(key, start, start + 10, (), ());
        let rows = t.fire(&[fired("a", 0), fired("b", 0), fired("a", 0), fired("a", 10)]).unwrap().rows;
        let counts = |of_key, of_window| Row { of_key, of_window };
        assert_eq!(rows, [counts(1, 1), counts(1, 1), counts(2, 2), counts(3, 1)]);
    }
}
