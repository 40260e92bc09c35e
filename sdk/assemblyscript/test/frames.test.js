// Frames that a host must not write: each has one word wrong.
import assert from "node:assert/strict";
import test from "node:test";
import { agendaFrame, MERGE, RECORD, RESET, RESULT } from "../apply.js";
import { AssignerTwin, load, PairTwin, ProcessTwin, TriggerTwin, Twin, WatermarkTwin } from "../twin.js";

const plugin = (name) => load(new URL(`../testdata/${name}`, import.meta.url));
const BAD_FRAME = 3, HUGE = 0xFFFFFFF8;
const BLOCK = 60, ITEMS = 0, KEYS = 4, NKEYS = 8, WINDOWS = 12, RESULTS = 20, ROWS = 24, COLS = 28, NCOLS = 32;

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
  (f) => f.frame.u32(f.frame.load(f.block + COLS), 9), // the kind of the first column
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

/** Frames of operations on accumulators, each with the last one that was made. */
function agendas(twin) {
  const made = { export: "tm_aggregate_apply", start: () => twin.start(), frame: (agenda, _, instance) => made.last = agendaFrame(twin, instance, agenda) };
  return made;
}

test("frames of operations on accumulators", async () => {
  const every = new Twin(await plugin("every")), acc = every.add(null, { i: 1, s: "x" }), twin = agendas(every);
  const ops = [{ what: RECORD }, { what: RESULT }, { what: RESET }, { what: MERGE, acc: 1, arg: 0 }, { what: RECORD, acc: 1, arg: 1 }];
  const agenda = { ops, records: [{ i: 2, f: 1, b: true, s: "é", t: 3 }, {}], accs: [acc, acc] };
  const cell = (list, column, word, v) => (f) => f.frame.u32(list(f) + 32 * column + 4 * word, v);
  const input = (f) => f.frame.load(f.block + COLS), output = (f) => f.frame.get("outcols");
  check(twin, agenda, [
    ...anywhere, (f) => f.word(ITEMS, HUGE), (f) => f.head("groups", 1), (f) => f.head("groups", 0), (f) => f.head("groups", 0x100000), (f) => f.head("acc", HUGE),
    (f) => f.word(ROWS, 1), (f) => f.word(RESULTS, 0), (f) => f.word(RESULTS, 0x200000), (f) => f.head("noutcols", 4), (f) => f.head("outcols", HUGE),
    ...[0, 1, 2, 3, 4].flatMap((c) => [2, 3].flatMap((word) => [cell(input, c, word, HUGE), cell(output, c, word, HUGE)])), // validity and data
    cell(input, 3, 4, HUGE), cell(output, 3, 0, 1),
  ]);
  for (const change of [
    (f) => f.item(4, 16, 0, 4), (f) => f.item(4, 16, 4, 2), (f) => f.item(4, 16, 8, 2), // what, accumulator, record
    (f) => f.item(1, 16, 8, 1), (f) => f.item(2, 16, 8, 1), (f) => f.item(3, 16, 8, 2), // row of the results, of a reset none, accumulator
    (f) => f.item(4, 16, 4, HUGE), (f) => f.item(4, 16, 8, HUGE), (f) => f.item(3, 16, 8, HUGE),
  ]) {
    assert.equal(status(twin, agenda, change), BAD_FRAME, String(change));
    assert.deepEqual(twin.last.fixed(2, acc.length), [acc, acc], `${change}: nothing has been carried out`);
  }
});

test("accumulators of varying size take no operations", async () => {
  const distinct = new Twin(await load(new URL("../../../plugins/assemblyscript/distinct", import.meta.url)));
  assert.equal("apply" in distinct.spec, false);
  assert.equal(status(agendas(distinct), { ops: [{ what: RESET }], records: [], accs: [distinct.create()] }, () => {}), BAD_FRAME);
});

test("a call of another kind, and one before the arguments are known", async () => {
  const twin = new PairTwin(await plugin("pairs")), items = twin.pairs([{ values: { n: 1 } }], [{ values: {} }]);
  for (const name of ["tm_process", "tm_map", "tm_watermark", "tm_watermark_tick", "tm_trigger", "tm_assign", "tm_aggregate_add", "tm_aggregate_create", "tm_aggregate_merge", "tm_aggregate_result", "tm_aggregate_apply", "tm_upgrade"]) {
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
