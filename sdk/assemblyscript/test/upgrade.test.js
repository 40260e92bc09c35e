// Upgrades of what an older schema has kept.
import assert from "node:assert/strict";
import test from "node:test";
import { load, ProcessTwin, Refusal, TriggerTwin, Twin, WatermarkTwin } from "../twin.js";
import { upgrade, upgradeFrame } from "../upgrade.js";

const plugin = (name) => load(new URL(`../testdata/${name}`, import.meta.url));
const counts = await plugin("counts"), lists = new Twin(await plugin("lists")), kept = new ProcessTwin(await plugin("kept"));
const text = (s) => new TextEncoder().encode(s), bytes = (...words) => new Uint8Array(Int32Array.from(words).buffer);
const refuses = (message, op = 0) => (e) => e instanceof Refusal && e.op === op && e.message === message;

test("accumulators of a fixed size", () => {
  const twin = new Twin(counts, { first: 100 });
  const first = twin.upgrade(1, bytes(41, 0)), second = twin.upgrade(2, bytes(9, 0, 4, 0, 5, 0));
  assert.deepEqual(first, bytes(1, 0, 141, 0)); // on a fresh one, which the argument has made
  assert.deepEqual(second, bytes(2, 0, 9, 0));
  assert.deepEqual(twin.result(twin.merge(twin.add(first, {}), second)), { n: 151n, upgraded: 3n }); // as those of today
  assert.deepEqual(upgrade(twin, 1, "accumulator", [bytes(1, 0), bytes(2, 0)]), [bytes(1, 0, 101, 0), bytes(1, 0, 102, 0)]);
  assert.throws(() => upgrade(twin, 1, "accumulator", [bytes(1, 0), bytes(-1, 0)]), refuses("a count is -1", 1));
  assert.throws(() => twin.upgrade(1, bytes(1)), refuses("a state of an older schema has another size than its type"));
  assert.throws(() => twin.upgrade(3, bytes(1, 0, 1, 0)), refuses("the host asks for an upgrade that the plug-in does not have"));
  assert.deepEqual(counts.manifest.aggregate.accumulator, { width: 16, schema: 3, upgrades: [{ schema: 1, width: 8 }, { schema: 2, width: 24 }] });
});

test("accumulators that vary in size", () => {
  assert.deepEqual(lists.upgrade(4, text("ab")), text("0abab"));
  assert.deepEqual(lists.upgrade(4, text("-")), text(""));
  assert.throws(() => lists.upgrade(4, text("")), refuses("nothing was kept"));
  assert.throws(() => lists.upgrade(4, text("!")), refuses("a state of an older schema is damaged: its bytes end early"));
  assert.throws(() => lists.upgrade(4, new Uint8Array(600_000).fill(65)), refuses("accumulator is longer than 1 MiB"));
  assert.throws(() => lists.upgrade(4, text("?")), { message: /^behind others the state becomes 02303f3f, alone 00303f3f/ });
  assert.throws(() => lists.upgrade(4, text("-"), "key"), { message: "the state becomes empty: hosts do not take that" });
  assert.deepEqual(lists.spec.accumulator, { width: 0, schema: 5, upgrades: [{ schema: 4, width: 0 }] });
});

test("states of every kind", async () => {
  assert.deepEqual(kept.upgrade(4, text("ab"), "key"), text("1"));
  assert.deepEqual(kept.upgrade(2, bytes(7, 0), "window"), bytes(1, 7, 2, 0));
  assert.throws(() => kept.upgrade(4, text("a"), "window"), refuses("a single byte"));
  assert.throws(() => kept.upgrade(4, text("a")), { message: "what is upgraded: one of accumulator, key, window, split" });
  assert.deepEqual(kept.spec.state, { key: true, window: true, schema: 5, upgrades: [{ schema: 2 }, { schema: 4 }] });
  const panes = new TriggerTwin(await plugin("panes")), splits = new WatermarkTwin(await plugin("splits"));
  assert.deepEqual(panes.upgrade(1, Uint8Array.of(5)), Uint8Array.of(0xED, 0x07)); // 1005
  assert.throws(() => panes.upgrade(1, Uint8Array.of(5, 6)), refuses("more than a byte"));
  assert.deepEqual(splits.upgrade(1, bytes(7, 0)), bytes(7, 0));
});

test("what does not fit is for the next call", () => {
  const three = ["abc", "d", "ef"].map(text);
  // 7, 3 and 5 bytes, each behind its length and padded to 4.
  assert.deepEqual(upgrade(lists, 4, "key", three, 32), ["1abcabc", "1dd", "1efef"].map(text));
  assert.deepEqual(upgrade(lists, 4, "key", three, 31), ["1abcabc", "1dd"].map(text));
  assert.deepEqual(upgrade(lists, 4, "key", three, 11), []);
});

test("frames that a host must not write", () => {
  const status = (change) => {
    const frame = upgradeFrame(lists.start(), 4, "key", ["abc", "d", "ef"].map(text));
    const { instance } = frame, { tm_upgrade } = instance.exports;
    instance.exports = { ...instance.exports, tm_upgrade: (at) => { change(frame); return tm_upgrade(at); } };
    try {
      return frame.serve("tm_upgrade");
    } catch (e) {
      return e.message;
    }
  };
  assert.equal(status(() => {}), 0);
  assert.equal(status((f) => f.set("groups", 0)), 0);
  const offset = (i, v) => (f) => f.u32(f.get("acc") + 4 * i, v);
  for (const change of [
    (f) => f.set("block", 0xFFFFFFF8), (f) => f.set("block", f.get("block") + 4), (f) => f.set("acc", 0xFFFFFFF8), (f) => f.set("groups", 1 << 20),
    offset(1, 5), offset(3, 0xFFFFFFF0), // that fall, and beyond the frame
  ]) assert.match(status(change), /^BUG: tm_upgrade answers status 3 /, String(change));
});

// Nothing of a call is left.
test("garbage is collected", () => {
  const instance = lists.start();
  for (let i = 0; i < 60; i++) upgradeFrame(instance, 4, "key", [new Uint8Array(500_000).fill(65)]).serve("tm_upgrade");
  assert.ok(instance.exports.memory.buffer.byteLength < 20 << 20, `${instance.exports.memory.buffer.byteLength} bytes of memory`);
});
