// Functions of pairs, watermark generators and window assigners; functions of single
// records are tested with plugins/assemblyscript/probe.
import assert from "node:assert/strict";
import test from "node:test";
import { AssignerTwin, load, MapTwin, PairTwin, Refusal, WatermarkTwin } from "../twin.js";

const pairs = await load(new URL("../testdata/pairs", import.meta.url));
const splits = await load(new URL("../testdata/splits", import.meta.url));
const spans = await load(new URL("../testdata/spans", import.meta.url));
delete globalThis.WebAssembly; // the compiler needed it; the plug-ins do not

const left = [{ time: 1, values: { n: 2 } }, { values: { n: 1 } }, { values: {} }, { time: 9, values: { n: 0 } }];
const right = [{ time: 3, values: { s: "é" } }, { values: {} }];

test("pairs, with the times of both records", () => {
  assert.deepEqual(new PairTwin(pairs).show(left, right), [
    { times: 1003n, text: "é", at: 3n }, { times: 1003n, text: "é", at: 3n }, { times: 999n, at: 1n }, { times: 999n, at: 1n },
    { times: -997n, text: "é", at: 3n }, { times: -1001n, at: 0n },
  ]);
  const late = 2n ** 53n + 1n; // which no double has
  assert.deepEqual(new PairTwin(pairs).show([{ time: -5, values: { n: 1 } }], [{ time: late, values: {} }, { time: new Date(-7), values: {} }]),
    [{ times: -5000n + late, at: late }, { times: -5007n, at: -5n }]);
  assert.throws(() => new PairTwin(pairs).show([...left, { values: { n: -1 } }], right), (e) => e instanceof Refusal && e.op === 8 && e.message === "n is below 0");
  new PairTwin(pairs).laws(left, right);
});

test("watermarks, by records and by the clock", () => {
  const host = new WatermarkTwin(splits);
  assert.equal(host.tick(50), null);
  assert.deepEqual(host.show({ time: 10, values: { say: 5, lag: 0 } }, { time: 20 }, { time: 20, values: { lag: 3 } }, { time: 30, values: { say: 2, lag: 1 } }),
    [10n, null, 17n, 29n]); // the last one of a record
  assert.equal(Buffer.from(host.state).toString("hex"), "0400000000000000");
  assert.equal(host.tick(50), 46n);
  assert.throws(() => host.show({ time: 1, values: {} }, { time: 40, values: { lag: -1 } }), (e) => e instanceof Refusal && e.op === 1);
  assert.equal(Buffer.from(host.state).toString("hex"), "0400000000000000");
  host.laws({ time: 1, values: { lag: 1 } }, { time: 2, values: {} }, { time: 3, values: { say: 1 } });
});

test("windows of records", () => {
  const host = new AssignerTwin(spans), record = (size, times, step, time = 10) => ({ time, values: { size, times, step } });
  assert.deepEqual(host.show(record(5, 1), record(5, 0, 1), record(4, 3, 2), { time: 1, values: { size: 1 } }, record(2, 5), { values: { size: 1, times: 1 } }),
    [[[10n, 15n]], [], [[10n, 14n], [12n, 16n], [14n, 18n]], [], [[10n, 12n]], []]);
  assert.equal(host.show(record(1, 1000, 1))[0].length, 1000);
  assert.throws(() => host.show(record(1, 1), record(1, 1001, 1)), { message: "record 1 is in more than 1000 windows" });
  assert.throws(() => host.show(record(0, 1)), { message: "record 0: a window from 10 to 10 holds no time" });
  assert.throws(() => host.show(record(1, 1), record(13, 1)), (e) => e instanceof Refusal && e.op === 1 && e.message === "13 is no size");
  host.laws(record(5, 1), record(4, 3, 2), record(1, 40, -1), record(5, 0));
});

test("what merges is in one window", () => {
  const host = new AssignerTwin(spans);
  host.spec = { ...host.spec, merges: true };
  assert.throws(() => host.show({ time: 1, values: { size: 2, times: 2, step: 1 } }), { message: "record 0 is in more than 1 window" });
});

test("the twin of another kind", () => {
  assert.throws(() => new MapTwin(pairs), { message: "pairs has no member map in its manifest: it is of another kind" });
});

test("manifests", () => {
  const types = (columns) => columns.map(([name, type, nullable]) => nullable ? { name, type, nullable } : { name, type });
  assert.deepEqual(pairs.manifest.pair, {
    left: types([["n", "int64"]]), right: types([["s", "string", true]]), outputs: types([["times", "int64"], ["text", "string"], ["at", "timestamp"]]), params: [],
  });
  assert.deepEqual(splits.manifest.watermark, { inputs: types([["say", "timestamp", true], ["lag", "int64", true]]), params: [], state: { schema: 2, upgrades: [{ schema: 1 }] } });
  assert.deepEqual(spans.manifest.assigner, { inputs: types([["size", "int64"], ["times", "int64"], ["step", "int64", true]]), params: [] });
});
