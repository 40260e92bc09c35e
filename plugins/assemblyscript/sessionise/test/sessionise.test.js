import assert from "node:assert/strict";
import test from "node:test";
import { load, ProcessTwin, Refusal } from "../../../../sdk/assemblyscript/twin.js";

const sessionise = await load(new URL("..", import.meta.url));

// Windows of a second with a gap of 100 ms.
const window = (i, ...records) => ({
  key: "ann", start: 1000 * i, end: 1000 * (i + 1), records: records.map(([time, page]) => ({ time, values: { page } })),
});
const revised = (revision, firing) => ({ ...firing, revision });
const told = (start, end, events, entry, exit, open) => ({ start: BigInt(start), end: BigInt(end), events: BigInt(events), ...(entry && { entry }), ...(exit && { exit }), open });
const bounce = (at, page) => ({ at: BigInt(at), ...(page && { page }) });
const twin = () => new ProcessTwin(sessionise, { gap_ms: 100 });

/** Fires one by one and compares. */
function steps(...all) {
  const host = twin();
  for (const [what, firing, rows, bounces = []] of all) {
    const got = host.fire(firing);
    assert.deepEqual([got.rows, got.side.bounces ?? []], [rows, bounces], what);
  }
  return host;
}

test("sessions of a window", () => {
  steps(
    ["a pause of the gap belongs to it, one more does not", window(0, [10, "a"], [110, "b"], [211, "c"]), [told(10, 110, 2, "a", "b", false)], [bounce(211, "c")]],
    ["records in any order", window(1, [1400, "d"], [1050, "b"], [1010, "a"], [1410, "e"]), [told(1010, 1050, 2, "a", "b", false), told(1400, 1410, 2, "d", "e", false)]],
    ["equal times in order of arrival", window(2, [2020, "x"], [2010, "a"], [2010, "b"], [2020, "y"]), [told(2010, 2020, 4, "a", "y", false)]],
    ["no page is an empty one", window(3, [3010, null], [3020, ""], [3300, null]), [told(3010, 3020, 2, "", "", false)], [bounce(3300, "")]],
    ["no time", window(4, [null, "a"], [4010, "b"], [null, "c"], [4020, "d"]), [told(4010, 4020, 2, "b", "d", false)]],
    ["nothing with a time", window(5, [null, "a"]), []],
  );
});

test("sessions over windows", () => {
  const host = steps(
    ["open where a record of the next window can join", window(0, [10, "a"], [890, "b"], [900, "ç"]), [told(890, 900, 2, "b", "ç", true)], [bounce(10, "a")]],
    ["goes on, and is closed", window(1, [1000, "d"], [1200, "f"]), [told(890, 1000, 3, "b", "d", false)], [bounce(1200, "f")]],
    ["a single record is a row while it is open", window(2, [2900, "g"]), [told(2900, 2900, 1, "g", "g", true)]],
    ["over before the first record", window(3, [3001, "h"], [3990, null]), [told(3990, 3990, 1, "", "", true)], [bounce(2900, "g"), bounce(3001, "h")]],
    ["a window without times closes it", window(4, [null, "i"]), [], [bounce(3990, "")]],
    ["once", window(5, [null, "i"]), []],
  );
  assert.equal(host.keyState("ann").length, 0);
  assert.equal(host.windowState("ann", 5000, 6000), undefined);
});

test("an update begins with what its first firing was handed, and hands nothing on", () => {
  steps(
    ["open", window(0, [899, "a"], [950, "b"]), [told(899, 950, 2, "a", "b", true)]],
    ["a late record", revised(1, window(0, [899, "a"], [950, "b"], [990, "c"])), [told(899, 990, 3, "a", "c", true)]],
    ["the next one has it as it was", window(1, [1040, "d"]), [told(899, 1040, 3, "a", "d", false)]],
    ["an update of that", revised(1, window(1, [1040, "d"], [1045, "e"], [1950, "f"])), [told(899, 1045, 4, "a", "e", false), told(1950, 1950, 1, "f", "f", true)]],
    ["what that left open is nobody's", window(2, [2010, "g"], [2020, "h"]), [told(2010, 2020, 2, "g", "h", false)]],
  );
});

test("a window that comes after a later one begins with nothing", () => {
  steps(
    ["open", window(5, [5950, "a"]), [told(5950, 5950, 1, "a", "a", true)]],
    ["earlier", window(2, [2010, "b"], [2020, "c"]), [told(2010, 2020, 2, "b", "c", false)]],
    ["and it is gone", window(6, [6010, "d"], [6020, "e"]), [told(6010, 6020, 2, "d", "e", false)]],
  );
});

test("what is kept, and when it is written", () => {
  const host = twin(), page = "x".repeat(200);
  const state = (...parts) => Buffer.concat(parts.map((p) => typeof p === "string" ? Buffer.from(p, "hex") : new Uint8Array(BigInt64Array.of(p).buffer)));
  host.fire(window(0, [901, "ab"], [950, "c"], [960, page]));
  const handed = state(901n, 960n, 3n, "026162", "c801", Buffer.from(page).toString("hex"));
  assert.deepEqual(Buffer.from(host.keyState("ann")), handed);
  assert.equal(host.windowState("ann", 0, 1000), undefined);
  const next = window(1, [null, ""]), [row, key, window1] = host.run([next]).entries;
  assert.deepEqual([row.what, key.what, window1.what], [0, 0x80000000, 0x80000001]);
  assert.deepEqual([key.body.length, Buffer.from(window1.body)], [0, handed]); // closed: nothing is handed on
  // What stays as it is is not written again: a window whose end the session outlives.
  const wide = { ...window(1, [null, ""]), end: 1050 };
  assert.deepEqual(host.run([wide]).entries.map((e) => e.what), [0, 0x80000001]);
});

test("a damaged state is refused", () => {
  const host = twin();
  host.fire(window(0, [901, "ab"], [950, "c"]));
  const [name, whole] = [...host.states[0]][0];
  for (const bytes of [whole.subarray(0, 23), whole.subarray(0, 24), whole.subarray(0, 26), whole.subarray(0, -1), Uint8Array.of(...whole, 0), new Uint8Array(26)]) {
    host.states[0].set(name, bytes);
    assert.throws(() => host.fire(window(1)), (e) => e instanceof Refusal && e.message === "the state is not that of a session", Buffer.from(bytes).toString("hex"));
  }
});

test("at the end of time nothing overflows", () => {
  const last = 2n ** 63n - 1n, first = -(2n ** 63n);
  const got = twin().fire({ start: first, end: last, records: [{ time: last - 10n, values: { page: "a" } }, { time: first + 1n, values: { page: "b" } }] });
  assert.deepEqual(got, { rows: [told(last - 10n, last - 10n, 1, "a", "a", true)], side: { bounces: [bounce(first + 1n, "b")] } });
});

test("laws", () => {
  twin().laws(window(0, [10, "a"], [950, "b"]), { ...window(0, [940, "é"]), key: "bob" }, window(1, [1010, "c"]), revised(1, window(1, [1010, "c"], [1900, "d"])), window(2, [2500, null]));
});

test("arguments", () => {
  assert.throws(() => new ProcessTwin(sessionise, { gap_ms: 0 }), (e) => e instanceof Refusal && e.message === "gap_ms must be at least 1");
  new ProcessTwin(sessionise);
});
