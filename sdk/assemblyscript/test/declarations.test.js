import assert from "node:assert/strict";
import test from "node:test";
import { load } from "../twin.js";
import { compile } from "../compile.js";

test("what is wrong with a declaration", async () => {
  // The module registers nothing, so load has no manifest to read: what the module has
  // said while it started stands before the message.
  const error = await load(new URL("../testdata/declarations", import.meta.url)).catch((e) => e);
  assert.deepEqual(error.message.split("\n").slice(0, -1), [
    "nothing wrong: fine",
    "no name: a name matches [a-z][a-z0-9_-]{0,62}",
    "a capital: a name matches [a-z][a-z0-9_-]{0,62}",
    "a digit first: a name matches [a-z][a-z0-9_-]{0,62}",
    "63 letters: fine",
    "64 letters: a name matches [a-z][a-z0-9_-]{0,62}",
    "a long version: version is longer than 64 bytes",
    "no output: no output column",
    "schema 0: schema counts from 1",
    "65 inputs: more than 64 inputs",
    'a hyphen in a column: output "x-y": a name matches [a-z][a-z0-9_]{0,62}',
    'an output twice: output "n" is declared twice',
    'an input twice: input "c3" is declared twice',
    'a param twice: param "p" is declared twice',
    'required with a default: param "p" is required and has a default',
    'not finite: param "p" has a default that is not finite',
    'a long default: param "p" has a default of more than 4096 bytes',
    "a process function: fine",
    "a process function without an output: no output column",
    "one side of two: one of left and right: a function of both sides has both",
    "three lists: records beside left and right",
    "one list for both sides: left and right are one list",
    "one state for both sorts: keyState and windowState are one state",
    "a state with a text: state Named holds a reference: a fixed state has no strings, arrays or other objects; use BytesState",
    "schema 0 of a state: schema counts from 1",
    'a record column twice: record column "c1" is declared twice',
    'a side output that every step has: side output "late": every step has an output of that name',
    'a side output without columns: side output "x": no output column',
    'a side output twice: side output "x" is declared twice',
    "17 side outputs: more than 16 side outputs",
    "a map function: fine",
    "a map function without an output: no output column",
    "a pair function: fine",
    'a column on both sides: column "i" stands on both sides: declare one for each',
    'a right column twice: right column "c1" is declared twice',
    "a trigger: fine",
    "a trigger that sees no record: element is null: it would never see a record",
    "schema -1 of a trigger: schema counts from 1",
    "a watermark generator: fine",
    'a generator\'s input twice: input "c1" is declared twice',
    "a window assigner: fine",
    "65 inputs of an assigner: more than 64 inputs",
    "an assigner without a name: a name matches [a-z][a-z0-9_-]{0,62}",
    "64 upgrades: fine",
    "65 upgrades: more than 64 upgrades",
    "an upgrade from the present schema: upgrade from schema 1: it must be at least 1 and below 1",
    "an upgrade from schema 0: upgrade from schema 0: it must be at least 1 and below 2",
    "two upgrades from one schema: upgrade from schema 1: there are two",
    "an upgrade from what varied in size: upgrade from schema 1: it mixes accumulators of fixed and of varying size",
    "an upgrade from what has a text: upgrade from schema 1: accumulator or state Named holds a reference: a fixed accumulator or state has no strings, arrays or other objects; use UpgradeBytes",
    "upgrades of a process function: fine",
    "upgrades without a state: it keeps no state, and has upgrades",
    "a trigger's upgrade from a later schema: upgrade from schema 2: it must be at least 1 and below 1",
    "a generator's upgrade without a state: it keeps no state, and has upgrades",
    "panic: tidemark: no plug-in is registered: call fixedAggregate, processFunction or the like at the top level",
  ]);
});

test("a mistake in the sources is the compiler's report", async () => {
  await assert.rejects(compile(new URL("../testdata/none", import.meta.url)), { message: /^compile .*none: / });
});
