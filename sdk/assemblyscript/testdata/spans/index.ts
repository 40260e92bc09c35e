// A window assigner that names windows as records say.
import { Assigned, Int64Input, windowAssigner } from "tidemark";

const size = new Int64Input("size");
const times = new Int64Input("times");
const step = new Int64Input("step").nullable();

windowAssigner({ name: "spans", version: "1", inputs: [size, times, step] }, (a: Assigned): string | null => {
  for (let i: i64 = 0, n = times.of(a.row); i < n; i++) {
    const start = a.time + i * step.of(a.row);
    a.window(start, start + size.of(a.row));
  }
  return size.of(a.row) == 13 ? "13 is no size" : null;
});
