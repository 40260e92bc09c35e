// One column of each kind, nullable, answered as the last record says: the frame's whole
// vocabulary.
import {
  BoolInput, BoolOutput, BoolParam, fixedAggregate, Float64Input, Float64Output, Float64Param, Int64Input, Int64Output, Int64Param,
  log, Row, StringInput, StringOutput, StringParam, TimeInput, TimeOutput,
} from "tidemark";

const inInt = new Int64Input("i").nullable();
const inFloat = new Float64Input("f").nullable();
const inBool = new BoolInput("b").nullable();
const inString = new StringInput("s").nullable();
const inTime = new TimeInput("t").nullable();

const outInt = new Int64Output("i");
const outFloat = new Float64Output("f");
const outBool = new BoolOutput("b");
const outString = new StringOutput("s");
const outTime = new TimeOutput("t");

const refuse = new StringParam("refuse").defaultsTo("never");
const factor = new Float64Param("factor").defaultsTo(1);
const limit = new Int64Param("limit");
const strict = new BoolParam("strict").defaultsTo(false);

class Every {
  int: i64 = 0;
  float: f64 = 0;
  at: i64 = 0;
  n: i64 = 0;
  nulls: u32 = 31;
  bool: bool = false;

  add(r: Row): string | null {
    const text = inString.of(r);
    if (text == refuse.value) return refusal();
    if (text == "throw") throw new Error("no luck");
    if (text == "log") log("heard é");
    this.n++;
    this.nulls = u32(inInt.isNull(r)) | u32(inFloat.isNull(r)) << 1 | u32(inBool.isNull(r)) << 2 | u32(inString.isNull(r)) << 3 | u32(inTime.isNull(r)) << 4;
    this.int = inInt.of(r);
    this.float = inFloat.of(r) * factor.value;
    this.bool = inBool.of(r);
    this.at = inTime.of(r);
    return null;
  }

  merge(o: Every): string | null {
    this.n += o.n;
    if (o.n == 0) return null;
    this.int = o.int;
    this.float = o.float;
    this.bool = o.bool;
    this.at = o.at;
    this.nulls = o.nulls;
    return null;
  }

  result(w: Row): string | null {
    if (!(this.nulls & 1)) outInt.set(w, this.int);
    if (!(this.nulls & 2)) outFloat.set(w, this.float);
    if (!(this.nulls & 4)) outBool.set(w, this.bool);
    if (!(this.nulls & 8)) outString.set(w, "é".repeat(i32(this.n)));
    if (!(this.nulls & 16)) outTime.set(w, this.at);
    return null;
  }
}

// Longer than a message may be, with characters of 2 bytes behind an odd one.
function refusal(): string {
  return strict.value ? "-" + "é".repeat(3000) : "not this text";
}

fixedAggregate<Every>({
  name: "every",
  version: '1 "q"',
  inputs: [inInt, inFloat, inBool, inString, inTime],
  outputs: [outInt, outFloat, outBool, outString, outTime],
  params: [refuse, factor, limit, strict],
  configure: () => limit.given && limit.value < 0 ? "limit is below 0" : null,
});
