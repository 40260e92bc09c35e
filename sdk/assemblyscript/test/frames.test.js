// Frames that a host must not write: each has one word wrong.
import assert from "node:assert/strict";
import test from "node:test";
import { AssignerTwin, load, PairTwin, ProcessTwin, TriggerTwin, WatermarkTwin } from "../twin.js";

const plugin = (name) => load(new URL(`../testdata/${name}`, import.meta.url));
const BAD_FRAME = 3, HUGE = 0xFFFFFFF8;
const BLOCK = 60, ITEMS = 0, KEYS = 4, NKEYS = 8, WINDOWS = 12, ROWS = 24, COLS = 28, NCOLS = 32;

/** A frame for items, with what change does to it; gives the status. */
function status(twin, items, change) {
  const instance = twin.start(), frame = twin.frame(items, twin.states, instance);
  const block = frame.get("block"), serve = frame.serve.bind(frame);
  let result;
  const call = instance.exports[twin.export];
  instance.exports = { ...instance.exports, [twin.export]: (at) => {
    change({
      frame, block, item: (i, size, off, v) => frame.u32(frame.load(block + ITEMS) + i * size + off, v),
      word: (off, v) => frame.u32(block + off, v), head: (name, v) => frame.set(name, v),
    });
    return result = call(at);
  } };
  try {
    serve(twin.export);
  } catch (e) {
    assert.match(e.message, /^BUG: .* answers status 3/, String(change));
  }
  return result;
}

function check(twin, items, changes) {
  assert.equal(status(twin, items, () => {}), 0);
  for (const change of changes) assert.equal(status(twin, items, change), BAD_FRAME, `${twin.export}: ${change}`);
}

/** What is wrong with frames of all kinds. */
const anywhere = [
  (f) => f.head("block", HUGE),
  (f) => f.head("block", f.block + 4),
  (f) => f.head("block", f.frame.get("size") - 40),
  (f) => f.head("rows", 0x200000),
  (f) => f.head("size", 0x500000),
  (f) => f.head("out_cap", HUGE),
  (f) => f.word(ROWS, 0x200000),
  (f) => f.word(COLS, HUGE),
  (f) => f.word(NCOLS, 9),
  (f) => f.word(NCOLS, 0),
  (f) => f.frame.u32(f.frame.load(f.block + COLS), 9), // the kind of the times
];

test("frames of a process function", async () => {
  const twin = new ProcessTwin(await plugin("firings")), items = [{ key: "a", inputs: { script: "records;" }, records: [{ time: 1, values: { name: "x" } }] }, { key: "b", inputs: { script: "" } }];
  check(twin, items, [
    ...anywhere,
    (f) => f.head("ncols", 2), (f) => f.head("cols", HUGE), (f) => f.word(ITEMS, HUGE),
    (f) => f.word(KEYS, HUGE), (f) => f.word(NKEYS, 1), (f) => f.word(NKEYS, 0x40000000), (f) => f.word(WINDOWS, HUGE),
    (f) => f.frame.u32(f.frame.load(f.block + KEYS) + 4, 9), // offsets fall
    (f) => f.frame.u32(f.frame.load(f.block + KEYS) + 8, HUGE),
    (f) => f.item(1, 64, 32, 2), (f) => f.item(0, 64, 32, 0xFFFFFFFF), (f) => f.item(1, 64, 36, 2), // slots
    (f) => f.item(0, 64, 52, 2), (f) => f.item(1, 64, 48, 2), // rows from and to
  ]);
});

test("frames of the other kinds", async () => {
  const record = (values) => ({ time: 1, values });
  const pairs = new PairTwin(await plugin("pairs"));
  check(pairs, pairs.pairs([record({ n: 1 })], [record({ s: "x" })]), [...anywhere, (f) => f.word(ITEMS, HUGE), (f) => f.item(0, 16, 0, 1), (f) => f.item(0, 16, 4, 1)]);
  const panes = new TriggerTwin(await plugin("panes")), pane = panes.pane(0, 9);
  check(panes, [{ what: 0, pane, record: record({ say: "" }) }, { what: 3, pane, from: pane }], [
    ...anywhere, (f) => f.word(ITEMS, HUGE), (f) => f.word(NKEYS, 0),
    (f) => f.item(0, 64, 40, 5), (f) => f.item(0, 64, 44, 1), (f) => f.item(0, 64, 48, 1), (f) => f.item(1, 64, 52, 1),
  ]);
  const splits = new WatermarkTwin(await plugin("splits"));
  check(splits, [record({})], [...anywhere, (f) => f.word(NKEYS, 0), (f) => f.head("rows", 0), (f) => f.head("rows", 2)]);
  check(new AssignerTwin(await plugin("spans")), [record({ size: 1, times: 1 })], [...anywhere, (f) => f.head("rows", 0), (f) => f.head("rows", 2)]);
});

test("a call of another kind, and one before the arguments are known", async () => {
  const twin = new PairTwin(await plugin("pairs")), items = twin.pairs([{ values: { n: 1 } }], [{ values: {} }]);
  for (const name of ["tm_process", "tm_map", "tm_watermark", "tm_watermark_tick", "tm_trigger", "tm_assign", "tm_aggregate_add", "tm_aggregate_create", "tm_aggregate_merge", "tm_aggregate_result"]) {
    twin.export = name;
    assert.equal(status(twin, items, () => {}), BAD_FRAME, name);
  }
  twin.export = "tm_pair";
  const { start } = twin, params = twin.params;
  twin.params = [{ name: "none", type: "int64", nullable: true }]; // configured with another number of them
  twin.args = {};
  assert.throws(() => start.call(twin), { message: "BUG: tm_configure answers status 3 to the twin's frame" });
  twin.params = params;
});
