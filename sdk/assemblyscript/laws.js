// The laws of aggregates (abi/SPEC.md, section 6), checked on some records.
import { bothWays } from "./apply.js";

/**
 * Checks that fresh accumulators are neutral, that parts merged equal the whole however
 * it is cut, that result changes nothing, that many operations in one call do what single
 * calls do, and, if the manifest says so, that order does not matter and that equal means
 * equal to the bit. Otherwise numbers may differ by rounding. Throws an Error that says
 * what is broken.
 */
export function laws(twin, records) {
  const { order_insensitive: anyOrder, exact } = twin.spec, n = records.length;
  const whole = twin.add(null, ...records), want = twin.result(whole);
  const same = (acc, what) => {
    if (exact && !equalBytes(whole, acc)) {
      throw new Error(`${what}: accumulator is ${hex(acc)}, not ${hex(whole)} as in one pass, and the aggregate says that it is exact`);
    }
    const got = twin.result(acc);
    if (!equalRows(want, got, exact ? Object.is : close)) {
      throw new Error(`${what}: result is ${show(got)}, not ${show(want)} as in one pass`);
    }
  };
  for (let cut = 0; cut <= n; cut++) {
    const a = twin.add(null, ...records.slice(0, cut)), b = twin.add(null, ...records.slice(cut));
    same(twin.merge(a, b), `merged at record ${cut} of ${n}`);
    if (anyOrder) same(twin.merge(b, a), `merged at record ${cut} of ${n}, the parts exchanged`);
  }
  same(records.reduce((acc, r) => twin.add(acc, r), twin.create()), "added one by one");
  if (anyOrder) same(twin.add(null, ...records.toReversed()), "added in reverse");

  const before = twin.call("result", { accs: [whole] }), again = twin.call("result", { accs: [whole] });
  if (!equalRows(before.rows[0], again.rows[0], Object.is)) {
    throw new Error(`a second result is ${show(again.rows[0])}, not ${show(before.rows[0])}`);
  }
  if (before.accs.length > 0 && !equalBytes(whole, before.accs[0])) {
    throw new Error(`result changed the accumulator from ${hex(whole)} to ${hex(before.accs[0])}`);
  }
  if (twin.spec.apply) inOneCall(twin, records);
}

function inOneCall(twin, records) {
  const { one, single } = bothWays(twin, records);
  single.rows.forEach((row, i) => {
    if (!equalRows(row, one.rows[i], Object.is)) throw new Error(`in one call: result ${i} is ${show(one.rows[i])}, not ${show(row)} as by single calls`);
  });
  if (!equalBytes(single.acc, one.acc)) throw new Error(`in one call: accumulator is ${hex(one.acc)}, not ${hex(single.acc)} as by single calls`);
}

/** How far numbers may lie apart, in parts of the larger. */
const ROUNDING = 1e-9;

function close(a, b) {
  if (typeof a !== "number" || typeof b !== "number") return a === b;
  if (a === b || Number.isNaN(a) && Number.isNaN(b)) return true;
  return Number.isFinite(a) && Number.isFinite(b) && Math.abs(a - b) <= ROUNDING * Math.max(Math.abs(a), Math.abs(b), 1);
}

function equalRows(a, b, equal) {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => name in b && equal(a[name], b[name]));
}

function equalBytes(a, b) {
  return Buffer.compare(a, b) === 0;
}

function hex(acc) {
  return Buffer.from(acc).toString("hex");
}

function show(row) {
  return JSON.stringify(row, (_, v) => typeof v === "bigint" ? `${v}n` : v);
}
