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
    "65 inputs: more than 64 inputs, outputs or params",
    'a hyphen in a column: output "x-y": a name matches [a-z][a-z0-9_]{0,62}',
    'an output twice: output "n" is declared twice',
    'an input twice: input "c3" is declared twice',
    'a param twice: param "p" is declared twice',
    'required with a default: param "p" is required and has a default',
    'not finite: param "p" has a default that is not finite',
    'a long default: param "p" has a default of more than 4096 bytes',
    "panic: tidemark: no aggregate is registered: call fixedAggregate or variableAggregate at the top level",
  ]);
});

test("a mistake in the sources is the compiler's report", async () => {
  await assert.rejects(compile(new URL("../testdata/none", import.meta.url)), { message: /^compile .*none: / });
});
