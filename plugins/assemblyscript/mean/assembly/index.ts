// A plug-in: count and mean of a column. It shows how the accumulators of a plug-in with a
// longer past become those of today.
import { fixedAggregate, Float64Input, Float64Output, Int64Output, Row, UpgradeFrom } from "tidemark";

const value = new Float64Input("value");
const count = new Int64Output("count");
const mean = new Float64Output("mean");

/** The accumulator, schema 3. */
class Sums {
  count: i64 = 0;
  sum: f64 = 0;

  add(r: Row): string | null {
    this.count++;
    this.sum += value.of(r);
    return null;
  }

  merge(o: Sums): string | null {
    this.count += o.count;
    this.sum += o.sum;
    return null;
  }

  result(w: Row): string | null {
    count.set(w, this.count);
    if (this.count > 0) mean.set(w, this.sum / <f64>this.count);
    return null;
  }
}

/** Schema 1 kept the mean itself, and counted in floats. */
class Means {
  mean: f64 = 0;
  count: f64 = 0;
}

/** Schema 2 kept the smallest value, too. */
class Lowest {
  sum: f64 = 0;
  count: i64 = 0;
  min: f64 = 0;
}

fixedAggregate<Sums>({
  name: "mean",
  version: "3.0.0",
  inputs: [value],
  outputs: [count, mean],
  orderInsensitive: true,
  schema: 3,
  upgrades: [
    new UpgradeFrom<Means, Sums>(1, (old, now) => {
      if (!(old.count >= 0 && old.count < 9007199254740992.0 && old.count == Math.floor(old.count))) return "a count is not a whole number";
      now.count = <i64>old.count;
      now.sum = old.mean * old.count;
      return null;
    }),
    new UpgradeFrom<Lowest, Sums>(2, (old, now) => {
      now.count = old.count;
      now.sum = old.sum;
      return null;
    }),
  ],
});
