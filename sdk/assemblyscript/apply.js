// Operations on accumulators in one call, tm_aggregate_apply of abi/SPEC.md, and the law
// that it does what single calls do.
import { Frame, OUTPUT_FULL } from "./frame.js";
import { complete } from "./functions.js";

/** What an operation { what, acc, arg } does; what is left out of one is 0. */
export const RECORD = 0, RESULT = 1, RESET = 2, MERGE = 3;

const BLOCK = 48, OPERATION = 16;

/** A frame with operations on accs, and the records that they name. */
export function agendaFrame(twin, instance, { ops, records, accs }) {
  const frame = new Frame(instance), { inputs, outputs, accumulator: { width } } = twin.spec;
  const results = count(ops), at = frame.area(OPERATION * ops.length);
  ops.forEach(({ what, acc = 0, arg = 0 }, i) => [what, acc, arg].forEach((v, k) => frame.u32(at + OPERATION * i + 4 * k, v)));
  frame.set("rows", ops.length);
  frame.set("groups", accs.length);
  frame.set("acc", frame.accs(accs, width));
  const cols = frame.described(inputs, records, "record");
  frame.outputs(outputs, results);
  frame.set("block", frame.area(BLOCK));
  [at, 0, 0, 0, 0, results, records.length, cols, inputs.length].forEach((v, i) => frame.u32(frame.get("block") + 4 * i, v));
  return frame;
}

/**
 * Carries out operations on accs in one call, on a fresh instance. room is the bytes of
 * the output area, by default all that is left of the arena. Gives how many operations
 * are done, the accumulators behind them, their result rows, and the bytes of their texts.
 */
export function apply(twin, agenda) {
  const { ops, accs, room } = agenda, frame = agendaFrame(twin, twin.start(), agenda);
  const status = frame.serve("tm_aggregate_apply", room), done = status === OUTPUT_FULL ? frame.get("done") : ops.length;
  return {
    done, accs: frame.fixed(accs.length, twin.spec.accumulator.width),
    rows: frame.rows(twin.spec.outputs, count(ops.slice(0, done))), used: frame.get("out_used"),
  };
}

function count(ops) {
  return ops.filter(({ what }) => what === RESULT).length;
}

/**
 * What one call and what single calls make of the same operations: two accumulators get
 * the records by turns, give results on the way, one is emptied half-way, and the other
 * takes it in at the end. Each is { acc, rows }.
 */
export function bothWays(twin, given) {
  const records = given.filter((r) => complete(twin.spec.inputs, r)), fresh = twin.create();
  const accs = [fresh, fresh], now = [...accs], ops = [], rows = [];
  const result = (acc) => {
    ops.push({ what: RESULT, acc, arg: rows.length });
    rows.push(twin.result(now[acc]));
  };
  records.forEach((r, i) => {
    const acc = i % 2;
    ops.push({ what: RECORD, acc, arg: i });
    now[acc] = twin.add(now[acc], r);
    if (i % 3 === 0) result(acc); // stretches of several records too
    if (i === records.length >> 1) {
      ops.push({ what: RESET });
      now[0] = fresh;
    }
  });
  ops.push({ what: MERGE, acc: 1 });
  now[1] = twin.merge(now[1], now[0]);
  result(1);
  const one = apply(twin, { ops, records, accs });
  return { one: { acc: one.accs[1], rows: one.rows }, single: { acc: now[1], rows } };
}
