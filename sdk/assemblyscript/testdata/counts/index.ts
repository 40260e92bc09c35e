// An aggregate whose accumulators were narrower and wider.
import { fixedAggregate, Int64Output, Int64Param, Row, UpgradeFrom } from "tidemark";

const n = new Int64Output("n"), upgraded = new Int64Output("upgraded");
const first = new Int64Param("first").defaultsTo(0);

class First {
  n: i32 = 0; // 8 bytes in the host's keeping
}

class Second {
  unused: i64 = 0;
  n: i64 = 0;
  more: i64 = 0;
}

class Third {
  upgraded: i64 = 0;
  n: i32 = <i32>first.value;
  add(_r: Row): string | null { this.n++; return null; }
  merge(o: Third): string | null {
    this.n += o.n;
    this.upgraded += o.upgraded;
    return null;
  }
  result(w: Row): string | null {
    n.set(w, this.n);
    upgraded.set(w, this.upgraded);
    return null;
  }
}

fixedAggregate<Third>({
  name: "counts", version: "3", outputs: [n, upgraded], params: [first], schema: 3,
  upgrades: [
    new UpgradeFrom<First, Third>(1, (old, now) => {
      now.upgraded++; // it was 0
      now.n += old.n; // and this the argument
      return old.n < 0 ? "a count is " + old.n.toString() : null;
    }),
    new UpgradeFrom<Second, Third>(2, (old, now) => {
      now.upgraded = 2;
      now.n = <i32>(old.n + old.more);
      return null;
    }),
  ],
});
