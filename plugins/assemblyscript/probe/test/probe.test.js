import assert from "node:assert/strict";
import test from "node:test";
import { load, MapTwin, Refusal, Trap } from "../../../../sdk/assemblyscript/twin.js";

const probe = await load(new URL("..", import.meta.url));
const show = (args, ...values) => new MapTwin(probe, args).show(...values.map((v) => ({ values: v })));

test("every type passes both ways", () => {
  for (const values of [
    { i: -5n, f: 1.5, b: true, s: "é", t: 7n }, { i: 0n, f: 0, b: false, s: "", t: 0n }, { f: -0 }, { f: NaN }, { i: 2n ** 53n + 1n }, {},
    { i: 2n ** 63n - 1n, f: -Infinity, t: -(2n ** 63n) }, { s: "\u{1F30A}\0", b: true }, { what: "", t: -1n },
  ]) {
    const { what, ...want } = values;
    assert.deepEqual(show({}, values), [[{ ...want, row: 0n }]]);
  }
});

test("copies", () => {
  assert.deepEqual(show({ times: 3, prefix: "<é", scale: -2 }, { f: 1.5, s: "x" }, { i: 1 }), [
    [0n, 1n, 2n].map((row) => ({ f: -3, s: "<éx", row })), [0n, 1n, 2n].map((row) => ({ i: 1n, row })),
  ]);
  assert.deepEqual(show({ times: 0 }, { i: 1 }), [[]]);
  assert.deepEqual(show({ on: false, times: 5 }, { i: 1 }, { what: "big" }), [[], [{ s: "", row: 0n }]]);
  assert.equal(show({ times: 1000 }, { s: "y".repeat(1000) })[0].length, 1000);
});

test("what a record asks for", () => {
  assert.deepEqual(show({}, { what: "none", i: 1 }, { what: "big", s: "é-", i: 3 }, { what: "big", s: "x", i: -1 }, { what: "big", s: "x" }, { what: "big", i: 5 }),
    [[], [{ s: "é-é-é-", row: 0n }], ...[0, 0, 0].map(() => [{ s: "", row: 0n }])]);
  assert.equal(show({}, { what: "big", s: "ab", i: 1 << 19 })[0][0].s.length, 1 << 20);
  for (const [values, want] of [
    [{ what: "refuse", s: "ü" }, "refused: ü"], [{ what: "refuse" }, "refused: "], [{ what: "Refuse", s: "x" }, "unknown: Refuse"],
    [{ what: "big", s: "abc", i: 1 << 19 }, "the texts of a result row are longer than 1 MiB"], [{ what: "big", s: "abc", i: 2n ** 62n }, "the texts of a result row are longer than 1 MiB"],
  ]) {
    assert.throws(() => show({}, {}, values), (e) => e instanceof Refusal && e.op === 1 && e.message === want, want);
  }
  for (const [s, want] of [["bang é", "panic: bang é\n"], ["", "panic: \n"], [null, "panic: trap\n"]]) {
    assert.throws(() => show({}, {}, { what: "trap", s }), (e) => e instanceof Trap && e.op === 1 && e.message.startsWith(want), want);
  }
});

test("a log is printed", (t) => {
  const error = t.mock.method(console, "error", () => {});
  assert.deepEqual(show({}, { what: "log", s: "heard é" }, {}), [[], [{ row: 0n }]]);
  assert.deepEqual(error.mock.calls.map((c) => c.arguments), [["heard é"]]);
});

test("laws", () => new MapTwin(probe, { times: 2 }).laws(...[{ s: "a" }, {}, { what: "none" }, { what: "big", s: "xyz", i: 100 }, { t: 5 }].map((values) => ({ values }))));

test("arguments", () => {
  for (const times of [-1, 1001]) {
    assert.throws(() => new MapTwin(probe, { times }), (e) => e instanceof Refusal && e.message === "times must be from 0 to 1000");
  }
});

test("the manifest", () => {
  const column = (nullable) => ([name, type]) => nullable ? { name, type, nullable } : { name, type };
  const five = [["i", "int64"], ["f", "float64"], ["b", "bool"], ["s", "string"], ["t", "timestamp"]];
  assert.deepEqual(probe.manifest.map, {
    inputs: [["what", "string"], ...five].map(column(true)),
    outputs: [...five, ["row", "int64"]].map(column(false)),
    params: [{ name: "times", type: "int64", default: 1 }, { name: "prefix", type: "string" }, { name: "scale", type: "float64", default: 1 }, { name: "on", type: "bool", default: true }],
  });
});
