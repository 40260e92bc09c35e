// Many operations on accumulators in one call.
import assert from "node:assert/strict";
import test from "node:test";
import { agendaFrame, apply, bothWays, MERGE, RECORD, RESET, RESULT } from "../apply.js";
import { load, Refusal, Trap, Twin } from "../twin.js";

const every = await load(new URL("../testdata/every", import.meta.url));
const twin = new Twin(every, { factor: 2, refuse: "bad" }), fresh = twin.create();

/** A record of each number, with other nulls and texts for each: columns of all types, over several words of validity. */
function record(i) {
  const all = { i: BigInt.asIntN(64, BigInt(i) * 0x123456789abcdefn), f: i % 7 === 0 ? -0 : i / 3, b: i % 2 === 0, s: "é".repeat(i % 5), t: 1000 * i };
  return Object.fromEntries(Object.entries(all).filter((_, k) => (i * 0x9E3779B1 >>> 8 + k) % 3 > 0));
}

test("one call does what single calls do", () => {
  for (const n of [0, 1, 2, 7, 150]) {
    const { one, single } = bothWays(twin, Array.from({ length: n }, (_, i) => record(i)));
    assert.deepEqual(one, single, `${n} records`);
  }
});

test("a record goes into several accumulators, and any of them is reset or merged", () => {
  const ops = [
    { what: RECORD, acc: 0, arg: 1 }, { what: RECORD, acc: 2, arg: 1 }, { what: RESULT, acc: 2, arg: 0 }, { what: RECORD, acc: 2, arg: 0 },
    { what: RESET, acc: 0 }, { what: RESULT, acc: 0, arg: 1 }, { what: MERGE, acc: 1, arg: 2 }, { what: RESULT, acc: 1, arg: 2 },
  ];
  const { done, accs, rows } = apply(twin, { ops, records: [{ f: 1.5, s: "" }, { i: 7, b: false, t: 9 }], accs: [fresh, fresh, fresh] });
  assert.equal(done, 8);
  assert.deepEqual(rows, [{ i: 7n, b: false, t: 9n }, {}, { f: 3, s: "éé" }]);
  assert.deepEqual(accs[0], fresh);
});

test("a call stops at a result that does not fit", () => {
  const x = { s: "x" }, [long, longer] = [900, 1100].map((n) => twin.add(null, ...Array.from({ length: n }, () => x)));
  const ops = [
    { what: RESULT, acc: 0, arg: 0 }, { what: RECORD, acc: 1 }, { what: RECORD, acc: 0 }, { what: RESULT, acc: 1, arg: 1 },
    { what: RESET, acc: 0 }, { what: RESULT, acc: 0, arg: 2 },
  ];
  const agenda = { ops, records: [{ ...x, i: 5 }], accs: [long, longer] };
  for (const room of [1800, 1800 + 2201]) { // "é" has 2 bytes, and one record more is in it
    const { done, accs, rows, used } = apply(twin, { ...agenda, room });
    assert.deepEqual({ done, used, rows }, { done: 3, used: 1800, rows: [{ s: "é".repeat(900) }] });
    assert.deepEqual(accs, [long, longer].map((acc) => twin.add(acc, ...agenda.records)));
  }
  const whole = apply(twin, { ...agenda, room: 1800 + 2202 });
  assert.deepEqual([whole.done, whole.used, whole.rows[2]], [6, 4002, {}]);
  const none = apply(twin, { ...agenda, room: 1799 });
  assert.deepEqual([none.done, none.used, none.accs], [0, 0, [long, longer]]);
});

test("nothing of a row stays of which one text fits and the next does not", async () => {
  const numbers = new Twin(await load(new URL("../testdata/numbers", import.meta.url)), { b: 1 });
  const { done, used } = apply(numbers, { ops: [{ what: RESULT }], records: [], accs: [numbers.create()], room: 20 }); // 7 bytes, and 39
  assert.deepEqual({ done, used }, { done: 0, used: 0 });
});

// A record is in the frame once: garbage is out of all proportion to its bytes.
test("a long text goes into many accumulators", () => {
  const text = "x".repeat(8000), ops = Array.from({ length: 5000 }, () => ({ what: RECORD })), instance = twin.start();
  const frame = agendaFrame(twin, instance, { ops, records: [{ s: text }], accs: [fresh] });
  frame.serve("tm_aggregate_apply"); // 80 MB of strings
  assert.ok(instance.exports.memory.buffer.byteLength < 20 << 20, `${instance.exports.memory.buffer.byteLength} bytes of memory`);
});

test("what is refused, or breaks down, is named", () => {
  const result = { what: RESULT, acc: 0, arg: 0 }, ops = [{ what: RECORD }, result, { what: RESET }, { what: RECORD, arg: 1 }];
  const run = (...records) => () => apply(twin, { ops, records, accs: [fresh] });
  assert.throws(run({}, { s: "bad" }), (e) => e instanceof Refusal && e.op === 3 && e.message === "not this text");
  assert.throws(run({ s: "bad" }, {}), (e) => e instanceof Refusal && e.op === 0);
  assert.throws(run({}, { s: "throw" }), (e) => e instanceof Trap && e.op === 3);

  const huge = twin.add(null, { s: "x" });
  new DataView(huge.buffer).setBigInt64(24, 600_000n, true); // records, for each of which the text has 2 bytes
  assert.throws(() => apply(twin, { ops: [{ what: RESET, acc: 1 }, result], records: [], accs: [huge, fresh] }),
    (e) => e instanceof Refusal && e.op === 1 && e.message === "the texts of a result row are longer than 1 MiB");
});
