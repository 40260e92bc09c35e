// A process function of a coGroup, without inputs and states: the sum of either side.
import { Firing, Int64Input, Int64Output, processFunction, Records } from "tidemark";

const mine = new Int64Input("n");
const theirs = new Int64Input("n");
const left = new Records([mine]);
const right = new Records([theirs]);
const sumLeft = new Int64Output("left");
const sumRight = new Int64Output("right");

function sum(list: Records, n: Int64Input, f: Firing): i64 {
  let all: i64 = 0;
  for (let r = list.at(f, 0), end = r + list.length(f); r < end; r++) all += n.of(r);
  return all;
}

processFunction({ name: "sides", version: "1", left: left, right: right, outputs: [sumLeft, sumRight] }, (f) => {
  const w = f.emit();
  sumLeft.set(w, sum(left, mine, f));
  sumRight.set(w, sum(right, theirs, f));
  return null;
});
