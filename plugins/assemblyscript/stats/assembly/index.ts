// A plug-in: count, sum, minimum, maximum and mean of a column.
//
// It refuses NaN, which has no place in an order. Without values only count and sum
// have a meaning, 0; min, max and mean are null.
import { fixedAggregate, Float64Input, Float64Output, Int64Output, Row } from "tidemark";

const value = new Float64Input("value");

const count = new Int64Output("count");
const sum = new Float64Output("sum");
const minimum = new Float64Output("min");
const maximum = new Float64Output("max");
const mean = new Float64Output("mean");

/** The accumulator. min and max mean nothing while count is 0. */
class Stats {
  count: i64 = 0;
  sum: f64 = 0;
  min: f64 = 0;
  max: f64 = 0;

  add(r: Row): string | null {
    const v = value.of(r) + 0; // makes -0 a 0: which of the two came first must not show
    if (isNaN(v)) return "value is NaN";
    if (this.count == 0) {
      this.min = v;
      this.max = v;
    } else if (v < this.min) {
      this.min = v;
    } else if (v > this.max) {
      this.max = v;
    }
    this.count++;
    this.sum += v;
    return null;
  }

  merge(o: Stats): string | null {
    if (o.count == 0) return null;
    if (this.count == 0) {
      this.min = o.min;
      this.max = o.max;
    } else {
      this.min = min(this.min, o.min);
      this.max = max(this.max, o.max);
    }
    this.count += o.count;
    this.sum += o.sum;
    return null;
  }

  result(w: Row): string | null {
    count.set(w, this.count);
    sum.set(w, this.sum);
    if (this.count > 0) {
      minimum.set(w, this.min);
      maximum.set(w, this.max);
      mean.set(w, this.sum / <f64>this.count);
    }
    return null;
  }
}

fixedAggregate<Stats>({
  name: "stats",
  version: "1.0.0",
  inputs: [value],
  outputs: [count, sum, minimum, maximum, mean],
  orderInsensitive: true, // up to the rounding of sum and mean, hence not exact
});
