// An aggregate of varying size that keeps bytes: those of an older schema it doubles.
import { Bytes, Int64Output, Reader, Row, UpgradeBytes, variableAggregate } from "tidemark";

const n = new Int64Output("n");

class List {
  bytes: Bytes = new Bytes();
  add(_r: Row): string | null { return null; }
  merge(_o: List): string | null { return null; }
  result(w: Row): string | null { n.set(w, this.bytes.length); return null; }
  encode(to: Bytes): string | null { to.append(this.bytes.at, this.bytes.length); return null; }
  decode(from: Reader): string | null {
    const size = from.left;
    this.bytes.append(from.take(size), size);
    return null;
  }
}

let calls = 0; // which must not show

variableAggregate<List>({
  name: "lists", version: "5", outputs: [n], schema: 5,
  upgrades: [
    new UpgradeBytes(4, (old, what, now) => {
      const size = old.left, at = old.take(size);
      if (size == 0) return "nothing was kept";
      if (load<u8>(at) == 0x2D) return null; // "-"
      if (load<u8>(at) == 0x21) old.byte(); // "!": beyond the end
      if (load<u8>(at) == 0x3F) now.byte(<u8>(calls++)); // "?"
      now.byte(0x30 + <u8>what);
      now.append(at, size);
      now.append(at, size);
      return null;
    }),
  ],
});
