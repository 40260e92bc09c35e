import assert from "node:assert/strict";
import test from "node:test";
import { load, Twin } from "../twin.js";

const joined = await load(new URL("../testdata/joined", import.meta.url));
const bytes = (text) => new TextEncoder().encode(text);
const texts = (accs) => accs.map((a) => new TextDecoder().decode(a));

test("answers that do not fit wait for the next call", () => {
  const host = new Twin(joined), accs = ["aaaaa", "bb", "ccc", ""].map(bytes);
  const rows = ["aaaaa", "bb", "ccc", ""].map((s) => ({ s }));
  // Each answer is a length of 4 bytes and its text, padded to 4: 12, 8, 8, 4. Result
  // rows hold the texts alone: 5, 2, 3, 0.
  for (const [room, added, answered, merged] of [
    [4096, 4, 4, 2], [32, 4, 4, 2], [31, 3, 4, 2], [28, 3, 4, 2], [27, 2, 4, 2], [20, 2, 4, 2], [12, 1, 4, 1], [11, 0, 4, 0],
    [10, 0, 4, 0], [9, 0, 2, 0], [7, 0, 2, 0], [6, 0, 1, 0], [4, 0, 0, 0], [1, 0, 0, 0],
  ]) {
    const add = host.call("add", { rows, group: [0, 1, 2, 3], accs: [null, null, null, null], room });
    assert.deepEqual(texts(add.accs), ["aaaaa", "bb", "ccc", ""].slice(0, added), `add in ${room} bytes`);
    const result = host.call("result", { accs, room });
    assert.deepEqual(result.rows.map((r) => r.s), ["aaaaa", "bb", "ccc", ""].slice(0, answered), `result in ${room} bytes`);
    const merge = host.call("merge", { accs: [bytes("a"), bytes("")], from: [bytes("aaaa"), bytes("bb")], room });
    assert.deepEqual(texts(merge.accs), ["aaaaa", "bb"].slice(0, merged), `merge in ${room} bytes`);
  }
});

test("an accumulator has at most 1 MiB, and two of them can be merged", () => {
  const host = new Twin(joined), half = host.add(null, { s: "m".repeat(1 << 19) });
  const whole = host.merge(half, half);
  assert.equal(whole.length, 1 << 20);
  assert.equal(host.result(whole).s, "m".repeat(1 << 20));
  assert.throws(() => host.merge(whole, bytes("x")), { message: "accumulator is longer than 1 MiB" });
  host.merge(whole, bytes(""));
});

test("the laws hold where order matters", () => {
  new Twin(joined).laws({ s: "b" }, { s: "" }, { s: "a\u{1F30A}" }, {});
});

// One instance that is never thrown away, unlike the twin's: what a call leaves must be
// collected, or the memory of 64 MiB were full after some hundred calls.
test("memory does not grow over many calls", (t) => {
  const pages = [];
  t.mock.method(console, "error", (text) => pages.push(Number(text)));
  const host = new Twin(joined), instance = host.start();
  host.start = () => {
    instance.log = "";
    return instance;
  };
  for (let i = 0; i < 4000; i++) {
    const rows = [{ s: i % 500 === 499 ? "pages" : "x" }, { s: "y".repeat(50_000 + i % 7 * 1000) }];
    const { accs } = host.call("add", { rows, group: [i % 2, i % 3], accs: [null, null, null] });
    assert.equal(accs[i % 3].length, rows[1].s.length + (i % 2 === i % 3 ? rows[0].s.length : 0));
  }
  assert.equal(pages.length, 8);
  assert.ok(Math.max(...pages) < 256, `${pages} pages of 64 KiB`);
});
