//! The manifests of all kinds, by hand from section 2, and declarations that are wrong.

use super::answers::{Busy, Mirror};
use crate as tidemark;
use crate::assigner::AssignerOf;
use crate::manifest::Manifest;
use crate::map::MapOf;
use crate::pair::PairOf;
use crate::plugin::Plugin;
use crate::process::ProcessOf;
use crate::trigger::TriggerOf;
use crate::watermark::WatermarksOf;
use crate::*;

tidemark::record! { struct Kind<'a> { kind: Option<&'a str> } }
tidemark::params! { #[allow(dead_code)] struct Args { n: i64, slack: f64 = 2.5 } }
tidemark::row! { struct Out { n: i64 } }
tidemark::plain! { struct Kept { n: i64 } }

struct All;

impl Pair for All {
    const NAME: &'static str = "pairs";
    const VERSION: &'static str = "1";
    type Left = Kind<'static>;
    type Right = ();
    type Row = Out;
    type Params = Args;
    fn pair(_: &Paired<Self>, _: &Args) -> Result<(), Refusal> {
        Ok(())
    }
}

impl Watermarks for All {
    const NAME: &'static str = "marks";
    const VERSION: &'static str = "1";
    const SCHEMA: u32 = 2;
    type Record = Kind<'static>;
    type Params = Args;
    type State = Bytes;
    fn record(_: &mut Slot<Bytes>, _: Timestamp, _: Kind, _: &Args) -> Result<Option<Timestamp>, Refusal> {
        Ok(None)
    }
}

impl Trigger for All {
    const NAME: &'static str = "fires";
    const VERSION: &'static str = "1";
    const MAY_PURGE: bool = true;
    type Record = Kind<'static>;
    type Params = ();
    type State = Kept;
    fn element(_: &mut Pane<Self>, _: Option<Timestamp>, _: Kind, _: &()) -> Result<Verdict, Refusal> {
        Ok(Verdict::Continue)
    }
}

impl Assigner for All {
    const NAME: &'static str = "windows";
    const VERSION: &'static str = "1";
    const MERGES: bool = true;
    type Record = Kind<'static>;
    type Params = ();
    fn assign(_: &Assigned<Self>, _: &()) -> Result<(), Refusal> {
        Ok(())
    }
}

/// Without inputs, records and states.
impl Process for All {
    const NAME: &'static str = "little";
    const VERSION: &'static str = "1";
    type Inputs = ();
    type Records = ();
    type Row = Out;
    type Side = ();
    type Params = ();
    type KeyState = ();
    type WindowState = ();
    fn process(_: &mut Firing<Self>, _: &()) -> Result<(), Refusal> {
        Ok(())
    }
}

#[test]
fn every_kind_says_what_is_declared() {
    let kind = r#""inputs":[{"name":"kind","type":"string","nullable":true}]"#;
    let args = r#""params":[{"name":"n","type":"int64","required":true},{"name":"slack","type":"float64","default":2.5}]"#;
    for (got, want) in [
        (
            MapOf::<Mirror>::manifest(),
            concat!(
                r#"{"name":"mirror","version":"1","sdk":"rust","map":{"inputs":[{"name":"i","type":"int64","nullable":true},"#,
                r#"{"name":"f","type":"float64","nullable":true},{"name":"b","type":"bool","nullable":true},"#,
                r#"{"name":"s","type":"string","nullable":true},{"name":"t","type":"timestamp","nullable":true}],"#,
                r#""outputs":[{"name":"i","type":"int64"},{"name":"f","type":"float64"},{"name":"b","type":"bool"},"#,
                r#"{"name":"s","type":"string"},{"name":"own","type":"string"},{"name":"t","type":"timestamp"}],"params":[]}}"#
            )
            .to_string(),
        ),
        (
            ProcessOf::<Busy>::manifest(),
            concat!(
                r#"{"name":"busy","version":"1","sdk":"rust","process":{"inputs":[{"name":"n","type":"int64"},{"name":"text","type":"string"}],"#,
                r#""left":[{"name":"l","type":"int64"}],"right":[{"name":"r","type":"string","nullable":true}],"#,
                r#""outputs":[{"name":"before","type":"int64"},{"name":"sum","type":"int64"},{"name":"text","type":"string"},"#,
                r#"{"name":"left","type":"int64"},{"name":"rights","type":"string"}],"side":[{"name":"odd","outputs":[{"name":"n","type":"int64"}]},"#,
                r#"{"name":"type","outputs":[{"name":"text","type":"string"},{"name":"in","type":"timestamp"}]}],"params":[],"#,
                r#""state":{"key":true,"window":true,"schema":3}}}"#
            )
            .to_string(),
        ),
        (
            ProcessOf::<All>::manifest(),
            r#"{"name":"little","version":"1","sdk":"rust","process":{"inputs":[],"outputs":[{"name":"n","type":"int64"}],"side":[],"params":[]}}"#
                .to_string(),
        ),
        (
            PairOf::<All>::manifest(),
            format!(
                r#"{{"name":"pairs","version":"1","sdk":"rust","pair":{{{},"right":[],"outputs":[{{"name":"n","type":"int64"}}],{}}}}}"#,
                kind.replace("inputs", "left"),
                args
            ),
        ),
        (
            WatermarksOf::<All>::manifest(),
            format!(r#"{{"name":"marks","version":"1","sdk":"rust","watermark":{{{},{},"state":{{"schema":2}}}}}}"#, kind, args),
        ),
        (
            TriggerOf::<All>::manifest(),
            format!(
                r#"{{"name":"fires","version":"1","sdk":"rust","trigger":{{{},"params":[],"state":{{"schema":1}},"may_purge":true,"merges":false}}}}"#,
                kind
            ),
        ),
        (
            AssignerOf::<All>::manifest(),
            format!(r#"{{"name":"windows","version":"1","sdk":"rust","assigner":{{{},"params":[],"merges":true}}}}"#, kind),
        ),
    ] {
        assert_eq!(got.unwrap(), want);
    }
}

#[test]
fn the_first_mistake_of_a_declaration_is_named() {
    let new = || Manifest::new("process", "a", "1");
    let out = <Out as Row>::FIELDS;
    let many: Vec<(&str, &[column::Field])> = vec![("s", out); 17];
    for (m, want) in [
        (Manifest::new("map", "A", &"v".repeat(65)), r#"map "A": a name matches [a-z][a-z0-9_-]{0,62}"#),
        (Manifest::new("pair", "a", &"v".repeat(65)), r#"pair "a": VERSION is longer than 64 bytes"#),
        (new().state(true, 0, &[]), "SCHEMA counts from 1"),
        (new().states(false, true, 1 << 31, &[]), "SCHEMA counts from 1"),
        (new().sides(&[("Odd", out)]), r#"side output "Odd": a name matches [a-z][a-z0-9_]{0,62}"#),
        (new().sides(&[("late", out)]).state(true, 0, &[]), r#"side output "late": every step has an output of that name"#),
        (new().sides(&many), "there are 17 side outputs, at most 16 are allowed"),
        (new().inputs("records", &vec![column::Field::input::<i64>("x"); 65]), "there are 65 records, at most 64 are allowed"),
        (new().outputs("outputs", &[column::Field::output::<i64>("X")]), r#"output "X": a name matches [a-z][a-z0-9_]{0,62}"#),
    ] {
        assert_eq!(m.done().unwrap_err(), want);
    }
    assert!(new().states(false, false, 0, &[]).sides(&many[..16]).done().is_ok());
}
