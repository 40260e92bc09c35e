import assert from "node:assert/strict";
import test from "node:test";
import { load, Refusal, Trap, Twin } from "../twin.js";

const every = await load(new URL("../testdata/every", import.meta.url));
delete globalThis.WebAssembly; // the compiler needed it; the plug-in does not

test("every kind passes both ways", () => {
  const noon = new Date("2020-02-29T12:00:00Z");
  for (const [name, record, want] of [
    ["values", { i: -5, f: 1.5, b: true, s: "x", t: noon }, { i: -5n, f: 3, b: true, s: "é", t: 1582977600000n }],
    ["zeros are values", { i: 0, f: 0, b: false, s: "", t: 0 }, { i: 0n, f: 0, b: false, s: "é", t: 0n }],
    ["the largest and the smallest", { i: 2n ** 63n - 1n, f: -Infinity, t: -(2n ** 63n) }, { i: 2n ** 63n - 1n, f: -Infinity, t: -(2n ** 63n) }],
    ["a whole number that no double has", { i: 2n ** 53n + 1n }, { i: 2n ** 53n + 1n }],
    ["a negative zero and NaN", { f: -0 }, { f: -0 }],
    ["NaN", { f: NaN }, { f: NaN }],
    ["nulls", {}, {}],
    ["some nulls", { f: 2, t: -1 }, { f: 4, t: -1n }],
  ]) {
    const host = new Twin(every, { factor: 2 });
    assert.deepEqual(host.result(host.add(null, record)), want, name);
  }
});

test("columns of many rows", () => {
  const rows = Array.from({ length: 130 }, (_, i) => i % 2 === 0 ? { s: "x", i } : { s: "x" }); // three words of validity
  for (const [n, want] of [[128, undefined], [129, 128n], [130, undefined]]) {
    const host = new Twin(every);
    const row = host.result(host.add(null, ...rows.slice(0, n)));
    assert.equal(row.i, want);
    assert.equal(row.s, "é".repeat(n));
  }
});

test("many accumulators in one call", () => {
  const host = new Twin(every), fresh = host.create();
  const { accs } = host.call("add", { rows: [{ i: 1 }, { i: 2 }, { i: 3 }], group: [2, 0, 2], accs: [fresh, fresh, fresh] });
  assert.deepEqual(host.call("result", { accs }).rows, [{ i: 2n }, {}, { i: 3n }]);
  const merged = host.call("merge", { accs: [accs[0], accs[1]], from: [accs[1], accs[2]] });
  assert.deepEqual(host.call("result", { accs: merged.accs }).rows, [{ i: 2n }, { i: 3n }]);
});

test("a refusal names the record and keeps what came before", () => {
  const host = new Twin(every, { refuse: "bad" });
  assert.throws(() => host.add(null, { s: "good" }, { s: "good" }, { s: "bad" }, { s: "bad" }),
    (e) => e instanceof Refusal && e.op === 2 && e.message === "not this text");
});

test("long messages are cut between characters", () => {
  const host = new Twin(every, { refuse: "bad", strict: true });
  // 4,096 bytes hold the hyphen and 2,047 characters of 2 bytes.
  assert.throws(() => host.add(null, { s: "bad" }), (e) => e.message === "-" + "é".repeat(2047));
});

test("a throw says what and where", () => {
  assert.throws(() => new Twin(every).add(null, { i: 1 }, { s: "throw" }),
    (e) => e instanceof Trap && e.op === 1 && /^panic: no luck\n\tat index\.ts:\d+:\d+$/.test(e.message));
});

test("a log is printed", (t) => {
  const error = t.mock.method(console, "error", () => {});
  new Twin(every).add(null, { s: "log" });
  assert.deepEqual(error.mock.calls.map((c) => c.arguments), [["heard é"]]);
});

test("arguments", () => {
  for (const [args, want] of [
    [{ limit: -1 }, /^limit is below 0$/],
    [{ limit: "x" }, /^argument 0: limit is string x, not int64$/],
    [{ limit: 2n ** 63n }, /not int64$/],
    [{ limit: 0.5 }, /not int64$/],
    [{ limits: 1 }, /^argument limits is not declared$/],
  ]) {
    assert.throws(() => new Twin(every, args), { message: want });
  }
  new Twin(every, { refuse: "x", factor: 2.5, limit: 3, strict: true });
});

test("the manifest", () => {
  assert.deepEqual(every.manifest, {
    name: "every", version: '1 "q"', sdk: "assemblyscript",
    aggregate: {
      inputs: [["i", "int64"], ["f", "float64"], ["b", "bool"], ["s", "string"], ["t", "timestamp"]].map(([name, type]) => ({ name, type, nullable: true })),
      outputs: [["i", "int64"], ["f", "float64"], ["b", "bool"], ["s", "string"], ["t", "timestamp"]].map(([name, type]) => ({ name, type })),
      params: [
        { name: "refuse", type: "string", default: "never" }, { name: "factor", type: "float64", default: 1 },
        { name: "limit", type: "int64" }, { name: "strict", type: "bool", default: false },
      ],
      accumulator: { width: 40, schema: 1 }, // four of 8 bytes, one of 4 and a bool, rounded up to 8
      order_insensitive: false, exact: false, apply: true,
    },
  });
});
