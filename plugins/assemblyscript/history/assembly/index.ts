// A plug-in: how many texts there were, and which was the last. It keeps all of them, in
// order, and shows how accumulators that vary in size are upgraded.
import { Bytes, Int64Output, Reader, Row, StringInput, StringOutput, UpgradeBytes, variableAggregate } from "tidemark";

const value = new StringInput("value");
const count = new Int64Output("count");
const last = new StringOutput("last");

function put(to: Bytes, at: usize, size: i32): void {
  to.uvarint(size);
  to.append(at, size);
}

const reader = new Reader(0, 0);

/** The accumulator. Written, schema 2, it is each text behind its length. */
class List {
  private texts: Bytes = new Bytes();

  reset(): void { this.texts.clear(); }

  add(r: Row): string | null {
    put(this.texts, value.at(r), value.size(r));
    return null;
  }

  merge(o: List): string | null {
    this.texts.append(o.texts.at, o.texts.length);
    return null;
  }

  result(w: Row): string | null {
    let n: i64 = 0, at: usize = 0, size: i32 = 0;
    for (reader.reset(this.texts.at, this.texts.length); reader.left > 0; n++) {
      const long = reader.uvarint();
      size = long > <u64>reader.left ? -1 : <i32>long;
      at = reader.take(size);
    }
    if (reader.damaged) return "accumulator is not a list: its bytes are damaged";
    count.set(w, n);
    if (n > 0) last.setBytes(w, at, size);
    return null;
  }

  encode(to: Bytes): string | null {
    to.append(this.texts.at, this.texts.length);
    return null;
  }

  decode(from: Reader): string | null {
    const size = from.left;
    this.texts.append(from.take(size), size);
    return null;
  }
}

variableAggregate<List>({
  name: "history",
  version: "2.0.0",
  inputs: [value],
  outputs: [count, last],
  exact: true,
  schema: 2,
  upgrades: [
    new UpgradeBytes(1, (old, _what, now) => { // schema 1 ended each text with a line feed
      const size = old.left, at = old.take(size);
      let from = 0;
      for (let i = 0; i < size; i++) {
        if (load<u8>(at + i) != 0x0A) continue;
        put(now, at + from, i - from);
        from = i + 1;
      }
      return from < size ? "a text does not end" : null;
    }),
  ],
});
