// A sum that breaks the law that its argument names.
import { fixedAggregate, Int64Input, Int64Output, Row, StringParam } from "tidemark";

const number = new Int64Input("number");
const total = new Int64Output("total");
const fault = new StringParam("fault").defaultsTo("none");

/** Results that this instance has given, which no aggregate may know. */
let given: i64 = 0;

class Sum {
  total: i64 = fault.value == "early" ? 100 : 0;
  n: i64 = 0;

  add(r: Row): string | null {
    if (fault.value != "first" || this.n == 0) this.total += number.of(r);
    this.n++;
    return null;
  }

  merge(o: Sum): string | null {
    if (fault.value == "sorry") return "cannot";
    if (fault.value == "forgetful") this.total = 0;
    if (fault.value != "first" || this.n == 0) this.total += o.total;
    this.n += o.n;
    return null;
  }

  result(w: Row): string | null {
    total.set(w, fault.value == "counting" ? this.total + given++ : this.total);
    if (fault.value == "greedy") this.n++;
    return null;
  }
}

fixedAggregate<Sum>({
  name: "sum", inputs: [number], outputs: [total], params: [fault],
  orderInsensitive: true, exact: true,
});
