// A plug-in for tests: what it does with a record is what the record says. Otherwise it
// makes garbage.
import { Bytes, Int64Output, Reader, Row, StringInput, variableAggregate } from "tidemark";

const mood = new StringInput("mood");
const length = new Int64Output("length");

let hoard: ArrayBuffer[] = [];

function deep(n: i32): i32 {
  return deep(n + 1) + n;
}

class Moods {
  last: ArrayBuffer = new ArrayBuffer(0);

  add(r: Row): string | null {
    const m = mood.of(r);
    if (m == "error") return "in no mood for this";
    if (m == "panic") throw new Error("a fit of temper");
    if (m == "index") return String.fromCharCode(hoard[7].byteLength);
    if (m == "deep") return deep(1).toString();
    while (m == "hoard") hoard.push(new ArrayBuffer(64 << 10));
    this.last = new ArrayBuffer(64 << 10);
    return null;
  }

  merge(o: Moods): string | null {
    return null;
  }

  result(w: Row): string | null {
    length.set(w, this.last.byteLength);
    return null;
  }

  encode(to: Bytes): string | null {
    return null;
  }

  decode(from: Reader): string | null {
    return null;
  }
}

variableAggregate<Moods>({ name: "moody", version: "1", inputs: [mood], outputs: [length] });
