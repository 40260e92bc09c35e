//! A plug-in, a function of single records, for hosts and their tests: it reads and writes
//! every type, and on demand refuses, traps, logs, runs forever or answers much. The column
//! `what` says which.

use tidemark::{Map, Mapped, Refusal, Timestamp};

tidemark::record! {
    struct Asked<'a> {
        what: Option<&'a str>,
        i: Option<i64>,
        f: Option<f64>,
        b: Option<bool>,
        s: Option<&'a str>,
        t: Option<Timestamp>,
    }
}

tidemark::row! {
    struct Copied<'a> {
        i: Option<i64>,
        f: Option<f64>,
        b: Option<bool>,
        s: Option<&'a str>,
        t: Option<Timestamp>,
        row: i64,
    }
}

tidemark::params! {
    struct Params { times: i64 = 1, prefix: Option<String>, scale: f64 = 1.0, on: bool = true }
}

struct Probe;

impl Map for Probe {
    const NAME: &'static str = "probe";
    const VERSION: &'static str = "1.0.0";

    type Record = Asked<'static>;
    type Row = Copied<'static>;
    type Params = Params;

    fn configure(p: &Params) -> Result<(), Refusal> {
        match p.times {
            0..=1000 => Ok(()),
            _ => Err("times must be from 0 to 1000".into()),
        }
    }

    fn map(m: &Mapped<Self>, p: &Params) -> Result<(), Refusal> {
        let text = m.record.s.unwrap_or("");
        match m.record.what.unwrap_or("") {
            "" => copy(m, p),
            "refuse" => return Err(format!("refused: {}", text).into()),
            "trap" => panic!("{}", m.record.s.unwrap_or("trap")),
            "none" => {}
            "fuel" => loop {
                std::hint::spin_loop()
            },
            "big" => {
                let s = text.repeat(m.record.i.unwrap_or(0).max(0) as usize);
                m.emit(Copied { i: None, f: None, b: None, s: Some(&s), t: None, row: 0 })
            }
            "log" => tidemark::log(text),
            other => return Err(format!("unknown: {}", other).into()),
        }
        Ok(())
    }
}

/// Gives the record back, as often as the job says.
fn copy(m: &Mapped<Probe>, p: &Params) {
    let r = &m.record;
    let prefixed = r.s.map(|s| p.prefix.as_deref().unwrap_or("").to_string() + s);
    for row in 0..if p.on { p.times } else { 0 } {
        m.emit(Copied { i: r.i, f: r.f.map(|f| f * p.scale), b: r.b, s: prefixed.as_deref(), t: r.t, row })
    }
}

tidemark::plugin!(Probe: Map);

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark::{MapTwin, Refused, Timed, Value};

    const NULL: Asked = Asked { what: None, i: None, f: None, b: None, s: None, t: None };
    const FULL: Asked = Asked { i: Some(i64::MIN), f: Some(1.5), b: Some(false), s: Some("ä"), t: Some(Timestamp(-1)), ..NULL };

    fn asked<'a>(what: &'a str, s: Option<&'a str>, i: i64) -> Timed<Asked<'a>> {
        Timed::at(0, Asked { what: Some(what), s, i: Some(i), ..NULL })
    }

    fn twin(args: &[(&str, Value)]) -> MapTwin<Probe> {
        MapTwin::new(args).unwrap()
    }

    #[test]
    fn a_record_comes_back() {
        let t = twin(&[]);
        let nothing = Copied { i: None, f: None, b: None, s: None, t: None, row: 0 };
        let all = Copied { i: Some(i64::MIN), f: Some(1.5), b: Some(false), s: Some("ä"), t: Some(Timestamp(-1)), row: 0 };
        let shown = [Timed::never(NULL), Timed::at(7, FULL), Timed::at(7, Asked { what: Some(""), ..FULL })];
        assert_eq!(t.show(&shown).unwrap(), [vec![nothing], vec![all.clone()], vec![all.clone()]]);

        let t = twin(&[("times", 2.into()), ("prefix", "<".into()), ("scale", Value::from(-2.0))]);
        let changed = Copied { f: Some(-3.0), s: Some("<ä"), ..all };
        assert_eq!(t.show(&shown[1..2]).unwrap(), [[changed.clone(), Copied { row: 1, ..changed }]]);
        assert_eq!(t.show(&[Timed::at(0, NULL)]).unwrap()[0][1].s, None);
        assert_eq!(twin(&[("on", false.into())]).show(&shown).unwrap(), [vec![], vec![], vec![]]);
        t.laws(&shown).unwrap();
    }

    #[test]
    fn it_does_what_it_is_asked_for() {
        let t = twin(&[]);
        let made = t.show(&[asked("none", Some("x"), 1), asked("log", Some("said"), 1), asked("big", Some("ab"), 3)]).unwrap();
        let big = Copied { i: None, f: None, b: None, s: Some("ababab"), t: None, row: 0 };
        assert_eq!(made, [vec![], vec![], vec![big.clone()]]);
        for (s, i) in [(Some("ab"), -1), (Some("ab"), 0), (None, 9)] {
            assert_eq!(t.show(&[asked("big", s, i)]).unwrap(), [[Copied { s: Some(""), ..big.clone() }]]);
        }
        for (what, s, message) in [("refuse", Some("no"), "refused: no"), ("refuse", None, "refused: "), ("What", None, "unknown: What")] {
            let refused = t.show(&[asked("none", None, 0), asked(what, s, 0)]).unwrap_err();
            assert_eq!(refused, Refused { op: Some(1), message: message.into() });
        }
        let texts = "the texts of a result row are longer than 1 MiB";
        assert_eq!(t.show(&[asked("big", Some("x"), 1 << 20)]).unwrap()[0][0].s.unwrap().len(), 1 << 20);
        assert_eq!(t.show(&[asked("big", Some("x"), (1 << 20) + 1)]).unwrap_err().message, texts);
        for (s, text) in [(Some("ouch"), "ouch"), (None, "trap")] {
            let trapped = std::panic::catch_unwind(|| t.show(&[asked("trap", s, 0)]).is_ok()).unwrap_err();
            assert_eq!(trapped.downcast_ref::<String>().unwrap(), text);
        }
    }

    #[test]
    fn what_does_not_fit_comes_in_a_further_call() {
        let records: Vec<_> = (0..12).map(|i| asked("big", Some("0123456789"), i * 40_000 / 10)).collect();
        twin(&[]).laws(&records).unwrap();
        let lengths: Vec<usize> = twin(&[]).show(&records).unwrap().iter().map(|rows| rows[0].s.unwrap().len()).collect();
        assert_eq!(lengths, (0..12).map(|i| i * 40_000).collect::<Vec<_>>());
    }

    #[test]
    fn times_is_bounded() {
        for times in [-1, 1001] {
            let refused = MapTwin::<Probe>::new(&[("times", times.into())]).err().unwrap();
            assert_eq!(refused.message, "times must be from 0 to 1000");
        }
        assert!(MapTwin::<Probe>::new(&[("times", 0.into())]).is_ok());
    }
}
