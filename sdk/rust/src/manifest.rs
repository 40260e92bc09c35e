//! The manifest of abi/SPEC.md, section 2, written by hand, and its limits, so that a
//! module that builds is a module that hosts take.

use crate::column::Field;
use crate::param::Declared;
use crate::upgrade::Upgrade;
use crate::value::{Kind, Value};
use std::fmt::Write;

const MAX_COLUMNS: usize = 64;
const MAX_NAME: usize = 63;
const MAX_VERSION: usize = 64;
const MAX_DEFAULT: usize = 4096;
const MAX_SIDES: usize = 16;
const MAX_UPGRADES: usize = 64;

/// The outputs that every step has.
const RESERVED: [&str; 4] = ["results", "late", "failed", "bad"];

/// A manifest that is being written, member by member. The first problem of the
/// declaration stands in place of it.
pub(crate) struct Manifest {
    text: String,
    problem: Option<String>,
    begun: bool, // the kind's object has a member
}

impl Manifest {
    /// Begins that of a plug-in of a kind.
    pub fn new(kind: &str, name: &str, version: &str) -> Manifest {
        let text = format!("{{\"name\":{},\"version\":{},\"sdk\":\"rust\",\"{}\":{{", quoted(name), quoted(version), kind);
        let mut m = Manifest { text, problem: None, begun: false };
        if !valid_name(name, "_-") {
            m.wrong(format!("{} {:?}: a name matches [a-z][a-z0-9_-]{{0,62}}", kind, name));
        } else if version.len() > MAX_VERSION {
            m.wrong(format!("{} {:?}: VERSION is longer than 64 bytes", kind, name));
        }
        m
    }

    fn wrong(&mut self, problem: String) {
        self.problem.get_or_insert(problem);
    }

    fn member(&mut self, name: &str) -> &mut String {
        if self.begun {
            self.text.push(',');
        }
        self.begun = true;
        write!(self.text, "\"{}\":", name).expect("a String takes all");
        &mut self.text
    }

    /// Columns that are read: inputs, records, left, right.
    pub fn inputs(self, member: &str, fields: &[Field]) -> Manifest {
        self.columns(member, member.trim_end_matches('s'), fields)
    }

    /// Columns that are answered.
    pub fn outputs(self, member: &str, fields: &[Field]) -> Manifest {
        self.columns(member, "output", fields)
    }

    fn columns(mut self, member: &str, what: &str, fields: &[Field]) -> Manifest {
        if let Err(problem) = check_names(what, fields.iter().map(|f| f.name)) {
            self.wrong(problem);
        }
        put_fields(self.member(member), fields);
        self
    }

    /// Side outputs, each with its name and columns.
    pub fn sides(mut self, sides: &[(&str, &[Field])]) -> Manifest {
        if sides.len() > MAX_SIDES {
            self.wrong(format!("there are {} side outputs, at most {} are allowed", sides.len(), MAX_SIDES));
        }
        let mut list = String::from("[");
        for (i, (name, fields)) in sides.iter().enumerate() {
            let name = plain_name(name);
            if RESERVED.contains(&name) {
                self.wrong(format!("side output {:?}: every step has an output of that name", name));
            }
            let good = check_names("side output", [name].into_iter()).and(check_names("output", fields.iter().map(|f| f.name)));
            if let Err(problem) = good {
                self.wrong(problem);
            }
            write!(list, "{}{{\"name\":{},\"outputs\":", if i > 0 { "," } else { "" }, quoted(name)).expect("a String takes all");
            put_fields(&mut list, fields);
            list.push('}');
        }
        self.member("side").push_str(&list);
        self.text.push(']');
        self
    }

    pub fn params(mut self, params: &[Declared]) -> Manifest {
        let good = check_names("param", params.iter().map(|p| p.name)).and(params.iter().try_for_each(check_default));
        if let Err(problem) = good {
            self.wrong(problem);
        }
        put_params(self.member("params"), params);
        self
    }

    pub fn flag(mut self, member: &str, is: bool) -> Manifest {
        self.member(member).push_str(if is { "true" } else { "false" });
        self
    }

    pub fn accumulator(mut self, width: usize, schema: u32, upgrades: &[Upgrade]) -> Manifest {
        if let Some(u) = upgrades.iter().find(|u| (u.width == 0) != (width == 0)) {
            self.wrong(format!("the upgrade from schema {} mixes accumulators of fixed and of varying size", u.schema));
        }
        self.versioned("accumulator", &format!("\"width\":{},", width), schema, upgrades, true)
    }

    /// The optional call of aggregates, if it is served.
    pub fn apply(self, served: bool) -> Manifest {
        match served {
            true => self.flag("apply", true),
            false => self,
        }
    }

    /// What is kept, if anything is.
    pub fn state(self, kept: bool, schema: u32, upgrades: &[Upgrade]) -> Manifest {
        self.kept(kept, "", schema, upgrades)
    }

    /// What is kept of keys and windows, if anything is.
    pub fn states(self, key: bool, window: bool, schema: u32, upgrades: &[Upgrade]) -> Manifest {
        self.kept(key || window, &format!("\"key\":{},\"window\":{},", key, window), schema, upgrades)
    }

    fn kept(mut self, kept: bool, rest: &str, schema: u32, upgrades: &[Upgrade]) -> Manifest {
        if kept {
            return self.versioned("state", rest, schema, upgrades, false);
        }
        if !upgrades.is_empty() {
            self.wrong("nothing is kept, and there are UPGRADES".into());
        }
        self
    }

    /// sized: upgrades are of accumulators, which had a width.
    fn versioned(mut self, member: &str, rest: &str, schema: u32, upgrades: &[Upgrade], sized: bool) -> Manifest {
        if schema == 0 || schema > i32::MAX as u32 {
            self.wrong("SCHEMA counts from 1".into());
        }
        if let Err(problem) = check_upgrades(schema, upgrades) {
            self.wrong(problem);
        }
        let list: Vec<String> = upgrades
            .iter()
            .map(|u| match sized {
                true => format!("{{\"schema\":{},\"width\":{}}}", u.schema, u.width),
                false => format!("{{\"schema\":{}}}", u.schema),
            })
            .collect();
        let list = if list.is_empty() { String::new() } else { format!(",\"upgrades\":[{}]", list.join(",")) };
        write!(self.member(member), "{{{}\"schema\":{}{}}}", rest, schema, list).expect("a String takes all");
        self
    }

    /// Gives the manifest, or says what is wrong with the declaration.
    pub fn done(mut self) -> Result<String, String> {
        self.text.push_str("}}");
        match self.problem {
            Some(problem) => Err(problem),
            None => Ok(self.text),
        }
    }
}

fn check_upgrades(schema: u32, upgrades: &[Upgrade]) -> Result<(), String> {
    if upgrades.len() > MAX_UPGRADES {
        return Err(format!("there are {} UPGRADES, at most {} are allowed", upgrades.len(), MAX_UPGRADES));
    }
    for (i, u) in upgrades.iter().enumerate() {
        if u.schema < 1 || u.schema >= schema {
            return Err(format!("an upgrade is from schema {}, which must be at least 1 and below {}", u.schema, schema));
        }
        if upgrades[..i].iter().any(|other| other.schema == u.schema) {
            return Err(format!("there are two upgrades from schema {}", u.schema));
        }
    }
    Ok(())
}

fn check_default(p: &Declared) -> Result<(), String> {
    match &p.default {
        Value::Float64(v) if !v.is_finite() => Err(format!("param {:?}: a default must be finite", p.name)),
        Value::String(v) if v.len() > MAX_DEFAULT => Err(format!("param {:?}: its default has more than 4096 bytes", p.name)),
        _ => Ok(()),
    }
}

pub(crate) fn check_names<'a>(what: &str, names: impl Iterator<Item = &'a str>) -> Result<(), String> {
    let names: Vec<&str> = names.map(plain_name).collect();
    if names.len() > MAX_COLUMNS {
        return Err(format!("there are {} {}s, at most {} are allowed", names.len(), what, MAX_COLUMNS));
    }
    match names.iter().find(|n| !valid_name(n, "_")) {
        Some(name) => Err(format!("{} {:?}: a name matches [a-z][a-z0-9_]{{0,62}}", what, name)),
        None => Ok(()),
    }
}

/// A column may be named by a word of Rust: r#type.
pub(crate) fn plain_name(name: &str) -> &str {
    name.strip_prefix("r#").unwrap_or(name)
}

/// A lower-case letter, then letters, digits and the marks.
pub(crate) fn valid_name(name: &str, marks: &str) -> bool {
    name.len() <= MAX_NAME
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || marks.contains(c))
}

fn put_fields(m: &mut String, fields: &[Field]) {
    m.push('[');
    for (i, f) in fields.iter().enumerate() {
        put_column(m, i, f.name, f.kind);
        m.push_str(if f.nullable { ",\"nullable\":true}" } else { "}" });
    }
    m.push(']');
}

fn put_params(m: &mut String, params: &[Declared]) {
    m.push('[');
    for (i, p) in params.iter().enumerate() {
        put_column(m, i, p.name, p.kind);
        if p.required {
            m.push_str(",\"required\":true");
        }
        match &p.default {
            Value::Int64(v) => write!(m, ",\"default\":{}", v),
            Value::Float64(v) => write!(m, ",\"default\":{:?}", v),
            Value::Bool(v) => write!(m, ",\"default\":{}", v),
            Value::String(v) => write!(m, ",\"default\":{}", quoted(v)),
            Value::Null | Value::Timestamp(_) => Ok(()),
        }
        .expect("a String takes all");
        m.push('}');
    }
    m.push(']');
}

/// Opens the object of a column; the caller closes it.
fn put_column(m: &mut String, i: usize, name: &str, kind: Kind) {
    if i > 0 {
        m.push(',');
    }
    write!(m, "{{\"name\":{},\"type\":\"{}\"", quoted(plain_name(name)), kind.name()).expect("a String takes all");
}

/// A text as JSON.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c < ' ' => write!(out, "\\u{:04x}", c as u32).expect("a String takes all"),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
