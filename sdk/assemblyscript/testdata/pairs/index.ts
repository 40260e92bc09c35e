// A pair function that tells what it sees.
import { Int64Input, Int64Output, Pair, pairFunction, StringInput, StringOutput, TimeOutput } from "tidemark";

const n = new Int64Input("n");
const s = new StringInput("s").nullable();
const times = new Int64Output("times");
const text = new StringOutput("text");
const at = new TimeOutput("at");

/** n rows for each pair, none where it is 0. */
function tell(p: Pair): string | null {
  for (let i: i64 = 0, end = n.of(p.left); i < end; i++) {
    const w = p.emit();
    times.set(w, (p.leftTimed ? p.leftTime : -1) * 1000 + (p.rightTimed ? p.rightTime : -1));
    if (!s.isNull(p.right)) text.setBytes(w, s.at(p.right), s.size(p.right));
    at.set(w, p.time);
  }
  return n.of(p.left) < 0 ? "n is below 0" : null;
}

pairFunction({ name: "pairs", version: "1", left: [n], right: [s], outputs: [times, text, at] }, tell);
