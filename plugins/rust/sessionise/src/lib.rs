//! A plug-in, a process function: it splits the records of a window of a key into sessions,
//! which end after gap_ms without a record, and carries the one that is still open into the
//! key's next window. Sessions of one record are bounces, and go to the side output of that
//! name; the open one is a row too, and comes again in a later window.
//!
//! A window that a late record corrects begins with what its first firing was handed, which
//! is therefore kept with the window. What it hands on is corrected no more: the next window
//! may have begun with it.

use tidemark::{put_uvarint, take, take_uvarint, Bytes, Firing, Process, Records, Refusal, Timestamp};

tidemark::record! { struct View<'a> { page: Option<&'a str> } }
tidemark::params! { struct Params { gap_ms: i64 = 1_800_000 } }

tidemark::row! {
    struct Row<'a> {
        start: Timestamp,
        end: Timestamp,
        events: i64,
        entry: Option<&'a str>,
        exit: Option<&'a str>,
        /// It may go on in the next window.
        open: bool,
    }
}

tidemark::row! { struct Bounce<'a> { at: Timestamp, page: Option<&'a str> } }
tidemark::sides! { enum Side<'a> { bounces(Bounce<'a>) } }

/// A session that may go on. Written, it is start, end and events, and then both pages, the
/// length before each.
#[derive(Clone, Copy)]
struct Session<'a> {
    start: i64,
    end: i64, // the time of its last record
    events: i64,
    entry: &'a str, // an empty page and none are the same here
    exit: &'a str,
}

impl<'a> Session<'a> {
    fn encode(&self) -> Vec<u8> {
        let mut to = [self.start, self.end, self.events].map(i64::to_le_bytes).concat();
        for page in [self.entry, self.exit] {
            put_uvarint(&mut to, page.len() as u64);
            to.extend_from_slice(page.as_bytes());
        }
        to
    }

    /// Reads what encode wrote; nothing is no session.
    fn decode(mut from: &'a [u8]) -> Result<Option<Session<'a>>, Refusal> {
        if from.is_empty() {
            return Ok(None);
        }
        let read = &mut from;
        let session = (|| {
            let mut number = || Some(i64::from_le_bytes(take(read, 8)?.try_into().ok()?));
            let (start, end, events) = (number()?, number()?, number()?);
            let mut page = || {
                let n = take_uvarint(read)?;
                std::str::from_utf8(take(read, n)?).ok()
            };
            Some(Session { start, end, events, entry: page()?, exit: page()? })
        })();
        match session {
            Some(session) if from.is_empty() && session.events > 0 => Ok(Some(session)),
            _ => Err("the state is not that of a session".into()),
        }
    }

    /// The last time at which a record still belongs to the session.
    fn until(&self, p: &Params) -> i64 {
        self.end.saturating_add(p.gap_ms)
    }

    fn answer(&self, f: &Firing<Sessionise>, open: bool) {
        let page = |page| Some(page).filter(|p: &&str| !p.is_empty());
        let (start, end) = (Timestamp(self.start), Timestamp(self.end));
        match open || self.events != 1 {
            true => f.emit(Row { start, end, events: self.events, entry: page(self.entry), exit: page(self.exit), open }),
            false => f.side(Side::bounces(Bounce { at: start, page: page(self.entry) })),
        }
    }
}

struct Sessionise;

impl Process for Sessionise {
    const NAME: &'static str = "sessionise";
    const VERSION: &'static str = "1.0.0";

    type Inputs = ();
    type Records = Records<View<'static>>;
    type Row = Row<'static>;
    type Side = Side<'static>;
    type Params = Params;
    /// The session that was open behind the key's last window.
    type KeyState = Bytes;
    /// The one that was open in front of this window, for its later firings.
    type WindowState = Bytes;

    fn configure(p: &Params) -> Result<(), Refusal> {
        match p.gap_ms {
            1.. => Ok(()),
            _ => Err("gap_ms must be at least 1".into()),
        }
    }

    fn process(f: &mut Firing<Self>, p: &Params) -> Result<(), Refusal> {
        let first = f.revision == 0;
        let carried = if first { f.key.get() } else { f.window.get() }.to_vec();
        if first && !carried.is_empty() {
            f.window.set(&carried);
        }
        // One that does not lie in front of the window comes of windows out of order.
        let mut session = Session::decode(&carried)?.filter(|s| s.end < f.start.0);

        let mut views: Vec<(i64, &str)> = f.records.iter().filter_map(|v| Some((v.time?.0, v.record.page.unwrap_or("")))).collect();
        views.sort_by_key(|v| v.0); // stable: equal times stay in order of arrival
        for (time, page) in views {
            match &mut session {
                Some(s) if time <= s.until(p) => {
                    s.end = time;
                    s.events += 1;
                    s.exit = page;
                }
                _ => {
                    if let Some(over) = &session {
                        over.answer(f, false);
                    }
                    session = Some(Session { start: time, end: time, events: 1, entry: page, exit: page });
                }
            }
        }

        let mut left = Vec::new();
        if let Some(last) = &session {
            let open = last.until(p) >= f.end.0;
            last.answer(f, open);
            if open {
                left = last.encode();
            }
        }
        if first && left != carried {
            f.key.set(&left);
        }
        Ok(())
    }
}

tidemark::plugin!(Sessionise: Process);

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark::{Fired, ProcessTwin, Timed, Value};

    type Host = ProcessTwin<Sessionise>;

    fn host(gap: i64) -> Host {
        Host::new(&[("gap_ms", gap.into())]).unwrap()
    }

    fn views<'a>(views: &[(i64, &'a str)]) -> Vec<Timed<View<'a>>> {
        views.iter().map(|&(at, page)| Timed::at(at, View { page: Some(page) })).collect()
    }

    /// The first firing of the window [start, start + 100) of key k.
    fn fired<'a>(start: i64, of: &[(i64, &'a str)]) -> Fired<'a, Sessionise> {
        Fired::new("k", start, start + 100, (), views(of))
    }

    fn row<'a>(start: i64, end: i64, events: i64, entry: &'a str, exit: &'a str, open: bool) -> Row<'a> {
        let page = |p: &'a str| if p.is_empty() { None } else { Some(p) };
        Row { start: Timestamp(start), end: Timestamp(end), events, entry: page(entry), exit: page(exit), open }
    }

    fn bounce(at: i64, page: Option<&str>) -> Side<'_> {
        Side::bounces(Bounce { at: Timestamp(at), page })
    }

    fn fire<'a>(t: &mut Host, f: Fired<'_, Sessionise>) -> (Vec<Row<'a>>, Vec<Side<'a>>) {
        t.laws(&[f.clone(), f.clone()]).unwrap();
        let given = t.fire(&[f]).unwrap();
        (given.rows, given.side)
    }

    #[test]
    fn a_window_is_split() {
        let mut t = host(10);
        // Out of order; 20 and 30 are just within the gap, 41 is just beyond it.
        let (rows, side) = fire(&mut t, fired(0, &[(30, "c"), (10, "a"), (20, "b"), (41, "d"), (60, ""), (65, "f")]));
        assert_eq!(rows, [row(10, 30, 3, "a", "c", false), row(60, 65, 2, "", "f", false)]);
        assert_eq!(side, [bounce(41, Some("d"))]);
        assert_eq!((t.key_state("k"), t.window_state("k", 0, 100)), (&b""[..], &b""[..]));
    }

    #[test]
    fn equal_times_are_in_order_of_arrival() {
        let (rows, _) = fire(&mut host(10), fired(0, &[(5, "x"), (5, "y"), (3, "a"), (5, "z")]));
        assert_eq!(rows, [row(3, 5, 4, "a", "z", false)]);
    }

    #[test]
    fn records_without_a_time_are_left_out() {
        let mut t = host(10);
        let f = Fired::new("k", 0, 100, (), vec![Timed::never(View { page: Some("x") }), Timed::at(50, View { page: None })]);
        assert_eq!(fire(&mut t, f), (vec![], vec![bounce(50, None)]));
        assert_eq!(fire(&mut t, Fired::new("k", 0, 100, (), vec![Timed::never(View { page: None })])), (vec![], vec![]));
    }

    #[test]
    fn the_last_session_is_carried_on() {
        let mut t = host(10);
        // 90 + 10 is the window's end: more may come of the session.
        assert_eq!(fire(&mut t, fired(0, &[(90, "a")])), (vec![row(90, 90, 1, "a", "a", true)], vec![]));
        let mut bytes = [90i64, 90, 1].map(i64::to_le_bytes).concat();
        bytes.extend_from_slice(b"\x01a\x01a");
        assert_eq!(t.key_state("k"), bytes);

        let (rows, side) = fire(&mut t, fired(100, &[(100, "b"), (195, "c")]));
        assert_eq!(rows, [row(90, 100, 2, "a", "b", false), row(195, 195, 1, "c", "c", true)]);
        assert_eq!(side, []);
        assert_eq!(t.window_state("k", 100, 200), bytes);

        // A later firing of the window finds what the first one found, and leaves the key.
        let key = t.key_state("k").to_vec();
        let again = Fired { revision: 1, ..fired(100, &[(100, "b"), (103, "l"), (195, "c")]) };
        assert_eq!(fire(&mut t, again).0, [row(90, 103, 3, "a", "l", false), row(195, 195, 1, "c", "c", true)]);
        assert_eq!((t.key_state("k"), t.window_state("k", 100, 200)), (&key[..], &bytes[..]));

        // Nothing more of it: closed, a bounce.
        assert_eq!(fire(&mut t, fired(200, &[])), (vec![], vec![bounce(195, Some("c"))]));
        assert_eq!((t.key_state("k"), t.window_state("k", 200, 300)), (&b""[..], &key[..]));
    }

    #[test]
    fn a_session_can_span_an_empty_window() {
        let mut t = host(250);
        fire(&mut t, fired(0, &[(90, "a"), (95, "b")]));
        let before = t.key_state("k").to_vec();
        assert_eq!(fire(&mut t, fired(100, &[])).0, [row(90, 95, 2, "a", "b", true)]);
        assert_eq!((t.key_state("k"), t.window_state("k", 100, 200)), (&before[..], &before[..]));
    }

    #[test]
    fn a_session_that_is_not_in_front_of_the_window_is_ignored() {
        let mut t = host(10);
        fire(&mut t, fired(100, &[(195, "late")]));
        let later = t.key_state("k").to_vec();
        assert_eq!(fire(&mut t, fired(0, &[(5, "a"), (6, "b")])), (vec![row(5, 6, 2, "a", "b", false)], vec![]));
        assert_eq!((t.key_state("k"), t.window_state("k", 0, 100)), (&b""[..], &later[..]));
    }

    /// Later firings of a frame see what earlier ones left, and other keys do not.
    #[test]
    fn firings_of_one_frame() {
        let t = host(10);
        let other = Fired { key: "other", ..fired(100, &[(101, "o"), (102, "p")]) };
        let frame = [fired(0, &[(95, "a")]), other, fired(100, &[(101, "b")]), fired(200, &[(200, "c"), (299, "d")]), fired(300, &[])];
        t.laws(&frame).unwrap();
        let mut t = host(10);
        let given = t.fire(&frame).unwrap();
        assert_eq!(
            given.rows,
            [
                row(95, 95, 1, "a", "a", true),
                row(101, 102, 2, "o", "p", false),
                row(95, 101, 2, "a", "b", false),
                row(299, 299, 1, "d", "d", true),
            ]
        );
        assert_eq!(given.side, [bounce(200, Some("c")), bounce(299, Some("d"))]);
    }

    #[test]
    fn the_end_of_time() {
        let mut t = host(i64::MAX);
        let f = Fired::new("k", i64::MIN, i64::MAX, (), views(&[(i64::MAX, "b"), (-5, "a")]));
        // The two are further apart than any gap.
        let (rows, side) = fire(&mut t, f);
        assert_eq!((rows, side), (vec![row(i64::MAX, i64::MAX, 1, "b", "b", true)], vec![bounce(-5, Some("a"))]));
    }

    #[test]
    fn a_gap_is_at_least_one() {
        for gap in [0, -1] {
            let refused = Host::new(&[("gap_ms", Value::Int64(gap))]).err().unwrap();
            assert_eq!(refused.message, "gap_ms must be at least 1");
        }
    }
}
