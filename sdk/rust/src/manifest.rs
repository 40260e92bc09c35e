//! The manifest of abi/SPEC.md, section 2, written by hand, and its limits, so that a
//! module that builds is a module that hosts take.

use crate::aggregate::{Aggregate, Kept};
use crate::column::{Field, Record};
use crate::output::Row;
use crate::param::{Declared, Params};
use crate::value::{Kind, Value};
use std::fmt::Write;

const MAX_COLUMNS: usize = 64;
const MAX_NAME: usize = 63;
const MAX_VERSION: usize = 64;
const MAX_DEFAULT: usize = 4096;

/// Checks the declaration and writes the manifest; the error says what is wrong.
pub(crate) fn manifest<A: Aggregate>() -> Result<String, String> {
    let inputs = <A::Record as Record<'_>>::FIELDS;
    let outputs = A::Row::FIELDS;
    let params = A::Params::declared();
    let wrong = |what: &str| Err(format!("aggregate {:?}: {}", A::NAME, what));
    if !valid_name(A::NAME, "_-") {
        return wrong("a name matches [a-z][a-z0-9_-]{0,62}");
    }
    if A::VERSION.len() > MAX_VERSION {
        return wrong("VERSION is longer than 64 bytes");
    }
    if A::SCHEMA == 0 || A::SCHEMA > i32::MAX as u32 {
        return wrong("SCHEMA counts from 1");
    }
    check_names("input", inputs.iter().map(|f| f.name))?;
    check_names("output", outputs.iter().map(|f| f.name))?;
    check_names("param", params.iter().map(|p| p.name))?;
    for p in &params {
        check_default(p)?;
    }
    let mut m = format!("{{\"name\":{},\"version\":{},\"sdk\":\"rust\",\"aggregate\":{{\"inputs\":[", quoted(A::NAME), quoted(A::VERSION));
    put_fields(&mut m, inputs);
    m.push_str("],\"outputs\":[");
    put_fields(&mut m, outputs);
    m.push_str("],\"params\":[");
    for (i, p) in params.iter().enumerate() {
        put_column(&mut m, i, p.name, p.kind);
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
    write!(
        m,
        "],\"accumulator\":{{\"width\":{},\"schema\":{}}},\"order_insensitive\":{},\"exact\":{}}}}}",
        A::Kept::WIDTH,
        A::SCHEMA,
        A::ORDER_INSENSITIVE,
        A::EXACT
    )
    .expect("a String takes all");
    Ok(m)
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
    for (i, f) in fields.iter().enumerate() {
        put_column(m, i, f.name, f.kind);
        m.push_str(if f.nullable { ",\"nullable\":true}" } else { "}" });
    }
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
