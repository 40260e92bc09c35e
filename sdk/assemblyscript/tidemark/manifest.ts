// The manifest of abi/SPEC.md, section 2, and its limits, so that a module that builds
// is a module that hosts take.
import { Input } from "./column";
import { Kind } from "./frame";
import { jsonString } from "./json";
import { Output } from "./output";
import { Param } from "./param";
import { ModuleSpec } from "./spec";
import { Upgrade } from "./upgrade";

const MAX_COLUMNS = 64;
const MAX_NAME = 63;
const MAX_VERSION = 64;
const MAX_UPGRADES = 64;

/** What is wrong with what every plug-in declares; null: nothing. */
export function checkModule(s: ModuleSpec): string | null {
  if (!validName(s.name, true)) return "a name matches [a-z][a-z0-9_-]{0,62}";
  if (String.UTF8.byteLength(s.version) > MAX_VERSION) return "version is longer than 64 bytes";
  const names: string[] = [];
  for (let i = 0; i < s.params.length; i++) {
    const p = s.params[i];
    names.push(p.name);
    if (p.isRequired && p.fallback !== null) return "param " + jsonString(p.name) + " is required and has a default";
    if (p.problem !== null) return "param " + jsonString(p.name) + " " + p.problem!;
  }
  return checkColumns("param", names);
}

export function checkInputs(what: string, inputs: Input[]): string | null {
  const names: string[] = [];
  for (let i = 0; i < inputs.length; i++) names.push(inputs[i].name);
  return checkColumns(what, names);
}

export function checkOutputs(outputs: Output[]): string | null {
  if (outputs.length == 0) return "no output column";
  const names: string[] = [];
  for (let i = 0; i < outputs.length; i++) names.push(outputs[i].name);
  return checkColumns("output", names);
}

export function checkSchema(schema: i32): string | null {
  return schema < 1 ? "schema counts from 1" : null;
}

/** Of accumulators of a width, 0 if they vary; -1: of states. */
export function checkUpgrades(schema: i32, upgrades: Upgrade[], width: i32): string | null {
  if (upgrades.length > MAX_UPGRADES) return "more than 64 upgrades";
  for (let i = 0; i < upgrades.length; i++) {
    const u = upgrades[i], from = "upgrade from schema " + u.schema.toString();
    if (u.schema < 1 || u.schema >= schema) return from + ": it must be at least 1 and below " + schema.toString();
    if (u.problem !== null) return from + ": " + u.problem!;
    if (width >= 0 && (u.width == 0) != (width == 0)) return from + ": it mixes accumulators of fixed and of varying size";
    for (let k = 0; k < i; k++) {
      if (upgrades[k].schema == u.schema) return from + ": there are two";
    }
  }
  return null;
}

function checkColumns(what: string, names: string[]): string | null {
  return names.length > MAX_COLUMNS ? "more than 64 " + what + "s" : checkNames(what, names);
}

export function checkNames(what: string, names: string[]): string | null {
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

/** An object of the manifest, member by member. */
export class Json {
  private members: string[] = [];

  /** Adds a member whose value is JSON already. */
  member(name: string, json: string): void { this.members.push('"' + name + '":' + json); }

  text(name: string, v: string): void { this.member(name, jsonString(v)); }

  bool(name: string, v: bool): void { this.member(name, v ? "true" : "false"); }

  int(name: string, v: i32): void { this.member(name, v.toString()); }

  inputs(name: string, inputs: Input[]): void {
    const list: string[] = [];
    for (let i = 0; i < inputs.length; i++) {
      const c = column(inputs[i].name, inputs[i].kind);
      if (inputs[i].takesNull) c.bool("nullable", true);
      list.push(c.object());
    }
    this.list(name, list);
  }

  outputs(outputs: Output[]): void {
    const list: string[] = [];
    for (let i = 0; i < outputs.length; i++) list.push(column(outputs[i].name, outputs[i].kind).object());
    this.list("outputs", list);
  }

  params(params: Param[]): void {
    const list: string[] = [];
    for (let i = 0; i < params.length; i++) {
      const c = column(params[i].name, params[i].kind), fallback = params[i].fallback;
      if (params[i].isRequired) c.bool("required", true);
      if (fallback !== null) c.member("default", fallback);
      list.push(c.object());
    }
    this.list("params", list);
  }

  /** Nothing if there are none. sized: of accumulators, which had a width. */
  upgrades(upgrades: Upgrade[], sized: bool): void {
    const list: string[] = [];
    for (let i = 0; i < upgrades.length; i++) {
      const u = new Json();
      u.int("schema", upgrades[i].schema);
      if (sized) u.int("width", upgrades[i].width);
      list.push(u.object());
    }
    if (list.length > 0) this.list("upgrades", list);
  }

  list(name: string, items: string[]): void { this.member(name, "[" + items.join(",") + "]"); }

  object(): string { return "{" + this.members.join(",") + "}"; }
}

function column(name: string, kind: Kind): Json {
  const c = new Json();
  c.text("name", name);
  c.text("type", kindName(kind));
  return c;
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
