// A plug-in: a window assigner for sessions whose gap each record says itself. A record is
// in the window [time, time + gap), and windows of a key that overlap or touch become one.
import { Assigned, Int64Input, Int64Param, windowAssigner } from "tidemark";

const gap = new Int64Input("gap_ms").nullable();
const usual = new Int64Param("gap_ms").defaultsTo(60_000); // of records that say none

const TOO_SHORT = "gap_ms must be at least 1";

function assign(a: Assigned): string | null {
  const start = a.time, ms = gap.isNull(a.row) ? usual.value : gap.of(a.row);
  if (ms < 1) return TOO_SHORT;
  a.window(start, start > i64.MAX_VALUE - ms ? i64.MAX_VALUE : start + ms);
  return null;
}

windowAssigner({
  name: "own_gap",
  version: "1.0.0",
  inputs: [gap],
  params: [usual],
  merges: true,
  configure: () => usual.value < 1 ? TOO_SHORT : null,
}, assign);
