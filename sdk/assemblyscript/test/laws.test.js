import assert from "node:assert/strict";
import test from "node:test";
import { laws } from "../laws.js";
import { load, Twin } from "../twin.js";

const sum = await load(new URL("../testdata/lawless", import.meta.url));
const records = [{ number: 1 }, { number: 2 }, { number: 4 }];

test("a lawful sum", () => new Twin(sum).laws(...records));

test("each fault is found", () => {
  for (const [fault, want] of [
    ["forgetful", /^merged at record 0 of 3, the parts exchanged: accumulator is 0{16}03/],
    ["greedy", /^result changed the accumulator from 07/],
    ["first", /the parts exchanged: accumulator is /],
    ["early", /^merged at record 0 of 3: accumulator is /],
    ["sorry", /^cannot$/],
    ["counting", /^in one call: result 1 is \{"total":"7n"\}, not \{"total":"6n"\} as by single calls$/],
  ]) {
    assert.throws(() => new Twin(sum, { fault }).laws(...records), { message: want }, fault);
  }
});

test("an order that matters, as the manifest says", () => {
  const host = new Twin(sum, { fault: "first" });
  host.spec = { ...host.spec, order_insensitive: false };
  host.laws(...records);
});

// A host that answers what it is told, for what no aggregate of whole numbers does.
test("rounding is allowed where nothing is said to be exact", () => {
  const host = (one, two) => ({
    spec: { order_insensitive: false, exact: false },
    create: () => new Uint8Array(), add: () => new Uint8Array(), merge: () => Uint8Array.of(1),
    result: (acc) => ({ v: acc.length === 0 ? one : two }),
    call: () => ({ rows: [{ v: one }], accs: [] }),
  });
  for (const [one, two] of [[1, 1 + 1e-12], [0, 1e-10], [Infinity, Infinity], [NaN, NaN], [0, -0]]) laws(host(one, two), []);
  for (const [one, two] of [[1, 1 + 1e-6], [Infinity, 1], [1, NaN], [1n, 2n], ["a", "b"], [1, undefined]]) {
    assert.throws(() => laws(host(one, two), []), { message: /^merged at record 0 of 0: result is / });
  }
});
