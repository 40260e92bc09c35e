// The manifest of abi/SPEC.md, section 2, and its limits, so that a module that builds
// is a module that hosts take.
import { Spec } from "./spec";
import { Kind } from "./frame";
import { jsonString } from "./json";

const MAX_COLUMNS = 64;
const MAX_NAME = 63;
const MAX_VERSION = 64;

/** What is wrong with a declaration; null: nothing. */
export function check(s: Spec): string | null {
  if (!validName(s.name, true)) return "a name matches [a-z][a-z0-9_-]{0,62}";
  if (String.UTF8.byteLength(s.version) > MAX_VERSION) return "version is longer than 64 bytes";
  if (s.inputs.length > MAX_COLUMNS || s.outputs.length > MAX_COLUMNS || s.params.length > MAX_COLUMNS) {
    return "more than 64 inputs, outputs or params";
  }
  if (s.outputs.length == 0) return "no output column";
  if (s.schema < 1) return "schema counts from 1";
  const names: string[] = [];
  for (let i = 0; i < s.inputs.length; i++) names.push(s.inputs[i].name);
  let problem = checkNames("input", names);
  if (problem !== null) return problem;
  names.length = 0;
  for (let i = 0; i < s.outputs.length; i++) names.push(s.outputs[i].name);
  problem = checkNames("output", names);
  if (problem !== null) return problem;
  names.length = 0;
  for (let i = 0; i < s.params.length; i++) {
    const p = s.params[i];
    names.push(p.name);
    if (p.isRequired && p.fallback !== null) return "param " + jsonString(p.name) + " is required and has a default";
    if (p.problem !== null) return "param " + jsonString(p.name) + " " + p.problem!;
  }
  return checkNames("param", names);
}

function checkNames(what: string, names: string[]): string | null {
  for (let i = 0; i < names.length; i++) {
    if (!validName(names[i], false)) return what + " " + jsonString(names[i]) + ": a name matches [a-z][a-z0-9_]{0,62}";
    if (names.indexOf(names[i]) < i) return what + " " + jsonString(names[i]) + " is declared twice";
  }
  return null;
}

/** A lower-case letter, then letters, digits, underscores and perhaps hyphens. */
function validName(name: string, hyphens: bool): bool {
  if (name.length == 0 || name.length > MAX_NAME) return false;
  for (let i = 0; i < name.length; i++) {
    const c = name.charCodeAt(i);
    const letter = c >= 0x61 && c <= 0x7A;
    const more = c >= 0x30 && c <= 0x39 || c == 0x5F || hyphens && c == 0x2D;
    if (!letter && (i == 0 || !more)) return false;
  }
  return true;
}

/** The manifest's JSON. The declaration has passed check. */
export function manifest(s: Spec, width: u32): string {
  const inputs: string[] = [], outputs: string[] = [], params: string[] = [];
  for (let i = 0; i < s.inputs.length; i++) {
    const c = s.inputs[i];
    inputs.push(column(c.name, c.kind, c.takesNull ? ',"nullable":true' : ""));
  }
  for (let i = 0; i < s.outputs.length; i++) outputs.push(column(s.outputs[i].name, s.outputs[i].kind, ""));
  for (let i = 0; i < s.params.length; i++) {
    const p = s.params[i];
    const fallback = p.fallback;
    params.push(column(p.name, p.kind, p.isRequired ? ',"required":true' : fallback !== null ? ',"default":' + fallback : ""));
  }
  return '{"name":' + jsonString(s.name) + ',"version":' + jsonString(s.version) + ',"sdk":"assemblyscript","aggregate":{' +
    '"inputs":[' + inputs.join(",") + '],"outputs":[' + outputs.join(",") + '],"params":[' + params.join(",") + "]," +
    '"accumulator":{"width":' + width.toString() + ',"schema":' + s.schema.toString() + "}," +
    '"order_insensitive":' + s.orderInsensitive.toString() + ',"exact":' + s.exact.toString() + "}}";
}

function column(name: string, kind: Kind, more: string): string {
  return '{"name":' + jsonString(name) + ',"type":"' + kindName(kind) + '"' + more + "}";
}

function kindName(kind: Kind): string {
  switch (kind) {
    case Kind.INT64: return "int64";
    case Kind.FLOAT64: return "float64";
    case Kind.BOOL: return "bool";
    case Kind.STRING: return "string";
    default: return "timestamp";
  }
}
