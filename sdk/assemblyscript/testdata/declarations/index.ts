// Declarations that are wrong, each in one way, and what the SDK says of them.
import {
  AssignerSpec, BoolOutput, BytesState, FixedState, Float64Param, Input, Int64Input, Int64Output, Int64Param, log, MapSpec, Output, PairSpec, Param,
  ProcessSpec, Records, Row, SideOutput, Spec, StringParam, TriggerSpec, Upgrade, UpgradeBytes, UpgradeFrom, WatermarkSpec,
} from "tidemark";
import { Assigner } from "tidemark/assigner";
import { Fixed } from "tidemark/fixed";
import { MapFunction } from "tidemark/map";
import { PairFunction } from "tidemark/pair";
import { Plugin, problemOf } from "tidemark/plugin";
import { ProcessFunction } from "tidemark/process";
import { Trigger } from "tidemark/trigger";
import { Generator } from "tidemark/watermark";

class Nothing {
  n: i64 = 0;
  add(r: Row): string | null { return null; }
  merge(o: Nothing): string | null { return null; }
  result(w: Row): string | null { return null; }
}

class Named {
  name: string = "";
}

function tell(what: string, p: Plugin): void {
  const problem = problemOf(p);
  log(what + ": " + (problem === null ? "fine" : problem));
}

function say(what: string, s: Spec): void { tell(what, new Fixed<Nothing>(s, 8)); }
function process(what: string, s: ProcessSpec): void { tell(what, new ProcessFunction(s, (f) => null)); }
function map(what: string, s: MapSpec): void { tell(what, new MapFunction(s, (m) => null)); }
function pair(what: string, s: PairSpec): void { tell(what, new PairFunction(s, (p) => null)); }
function trigger(what: string, s: TriggerSpec): void { tell(what, new Trigger(s)); }
function watermark(what: string, s: WatermarkSpec): void { tell(what, new Generator(s, (t) => null)); }
function assigner(what: string, s: AssignerSpec): void { tell(what, new Assigner(s, (a) => null)); }

const out: Output[] = [new Int64Output("n")];
const many: Input[] = [];
for (let i = 0; i < 65; i++) many.push(new Int64Input("c" + i.toString()));

say("nothing wrong", { name: "a-1_b", outputs: out, inputs: many.slice(0, 64) });
say("no name", { outputs: out });
say("a capital", { name: "Sum", outputs: out });
say("a digit first", { name: "1a", outputs: out });
say("63 letters", { name: "a".repeat(63), outputs: out });
say("64 letters", { name: "a".repeat(64), outputs: out });
say("a long version", { name: "a", version: "é".repeat(33), outputs: out });
say("no output", { name: "a" });
say("schema 0", { name: "a", outputs: out, schema: 0 });
say("65 inputs", { name: "a", outputs: out, inputs: many });
say("a hyphen in a column", { name: "a", outputs: [new BoolOutput("x-y") as Output] });
say("an output twice", { name: "a", outputs: [out[0], new BoolOutput("n")] });
say("an input twice", { name: "a", outputs: out, inputs: [many[3], many[3]] });
say("a param twice", { name: "a", outputs: out, params: [new Int64Param("p") as Param, new StringParam("p")] });
say("required with a default", { name: "a", outputs: out, params: [new Int64Param("p").required().defaultsTo(1) as Param] });
say("not finite", { name: "a", outputs: out, params: [new Float64Param("p").defaultsTo(NaN) as Param] });
say("a long default", { name: "a", outputs: out, params: [new StringParam("p").defaultsTo("é".repeat(2049)) as Param] });

const none: Input[] = [], one: Input[] = [new Int64Input("i")];
const list = new Records(none), state = new BytesState();
process("a process function", { name: "a", outputs: out, records: new Records(one), side: [new SideOutput("x", out)], keyState: new BytesState(), windowState: new FixedState<Nothing>() });
process("a process function without an output", { name: "a" });
process("one side of two", { name: "a", outputs: out, left: list });
process("three lists", { name: "a", outputs: out, left: list, right: new Records(none), records: new Records(none) });
process("one list for both sides", { name: "a", outputs: out, left: list, right: list });
process("one state for both sorts", { name: "a", outputs: out, keyState: state, windowState: state });
process("a state with a text", { name: "a", outputs: out, keyState: new FixedState<Named>() });
process("schema 0 of a state", { name: "a", outputs: out, schema: 0 });
process("a record column twice", { name: "a", outputs: out, records: new Records([many[1], many[1]]) });
process("a side output that every step has", { name: "a", outputs: out, side: [new SideOutput("late", out)] });
process("a side output without columns", { name: "a", outputs: out, side: [new SideOutput("x", [])] });
process("a side output twice", { name: "a", outputs: out, side: [new SideOutput("x", out), new SideOutput("x", out)] });
const sides: SideOutput[] = [];
for (let i = 0; i < 17; i++) sides.push(new SideOutput("s" + i.toString(), out));
process("17 side outputs", { name: "a", outputs: out, side: sides });
map("a map function", { name: "a", inputs: one, outputs: out });
map("a map function without an output", { name: "a", inputs: one });
pair("a pair function", { name: "a", left: one, outputs: out });
pair("a column on both sides", { name: "a", left: one, right: one, outputs: out });
pair("a right column twice", { name: "a", right: [many[1], many[1]], outputs: out });
trigger("a trigger", { name: "a", element: (p) => null });
trigger("a trigger that sees no record", { name: "a" });
trigger("schema -1 of a trigger", { name: "a", element: (p) => null, schema: -1 });
watermark("a watermark generator", { name: "a", inputs: one });
watermark("a generator's input twice", { name: "a", inputs: [many[1], many[1]] });
assigner("a window assigner", { name: "a", inputs: one });
assigner("65 inputs of an assigner", { name: "a", inputs: many });
assigner("an assigner without a name", { inputs: one });

function from(schema: i32): Upgrade { return new UpgradeFrom<Nothing, Nothing>(schema, (old, now) => null); }
function bytes(schema: i32): Upgrade { return new UpgradeBytes(schema, (old, what, now) => null); }
const upgrades: Upgrade[] = [];
for (let i = 1; i <= 65; i++) upgrades.push(from(i));
say("64 upgrades", { name: "a", outputs: out, schema: 66, upgrades: upgrades.slice(0, 64) });
say("65 upgrades", { name: "a", outputs: out, schema: 66, upgrades: upgrades });
say("an upgrade from the present schema", { name: "a", outputs: out, upgrades: [from(1)] });
say("an upgrade from schema 0", { name: "a", outputs: out, schema: 2, upgrades: [from(0)] });
say("two upgrades from one schema", { name: "a", outputs: out, schema: 2, upgrades: [from(1), from(1)] });
say("an upgrade from what varied in size", { name: "a", outputs: out, schema: 2, upgrades: [bytes(1)] });
say("an upgrade from what has a text", { name: "a", outputs: out, schema: 2, upgrades: [new UpgradeFrom<Named, Nothing>(1, (old, now) => null)] });
process("upgrades of a process function", { name: "a", outputs: out, windowState: new BytesState(), schema: 3, upgrades: [bytes(1), from(2)] });
process("upgrades without a state", { name: "a", outputs: out, schema: 2, upgrades: [bytes(1)] });
trigger("a trigger's upgrade from a later schema", { name: "a", element: (p) => null, state: new BytesState(), upgrades: [bytes(2)] });
watermark("a generator's upgrade without a state", { name: "a", schema: 2, upgrades: [bytes(1)] });
