// Arithmetic that JavaScript's numbers do not have, on two arguments and bytes that lie
// across boundaries.
import { Bytes, compareBytes, fixedAggregate, Float64Param, Int64Output, Int64Param, jsonString, Reader, Row, StringOutput, Texts } from "tidemark";

const a = new Int64Param("a").defaultsTo(0);
const b = new Int64Param("b").defaultsTo(0);
const f = new Float64Param("f").defaultsTo(0);

const sum = new Int64Output("sum");
const product = new Int64Output("product");
const quotient = new Int64Output("quotient");
const rest = new Int64Output("rest");
const shifted = new Int64Output("shifted");
const logical = new Int64Output("logical");
const turned = new Int64Output("turned");
const mixed = new Int64Output("mixed");
const narrow = new Int64Output("narrow");
const whole = new Int64Output("whole");
const bits = new Int64Output("bits");
const text = new StringOutput("text");
const across = new StringOutput("across");

class None {
  nothing: bool = false;

  add(r: Row): string | null { return null; }
  merge(o: None): string | null { return null; }

  result(w: Row): string | null {
    sum.set(w, a.value + b.value);
    product.set(w, a.value * b.value);
    quotient.set(w, a.value / b.value);
    rest.set(w, a.value % b.value);
    shifted.set(w, a.value >> 3);
    logical.set(w, <i64>(<u64>a.value >> 3));
    turned.set(w, <i64>rotl<u64>(a.value, 5));
    mixed.set(w, a.value ^ b.value | a.value & 0xFF00FF00FF);
    narrow.set(w, <i32>a.value * <i32>b.value);
    whole.set(w, <i64>f.value);
    bits.set(w, reinterpret<i64>(f.value));
    text.set(w, a.value.toString() + " " + (<u64>a.value).toString() + " " + f.value.toString());
    across.set(w, unaligned());
    return null;
  }
}

/** Writes and reads at odd addresses, and sorts texts whose first 8 bytes settle nothing. */
function unaligned(): string {
  const bytes = new Bytes();
  bytes.byte(7);
  bytes.int64(a.value);
  bytes.float64(f.value);
  bytes.uvarint(a.value);
  bytes.text("é😀");
  const from = new Reader(bytes.at, bytes.length);
  const same = from.byte() == 7 && from.int64() == a.value && from.float64() == f.value && from.uvarint() == <u64>a.value && from.text(6) == "é😀" &&
    from.left == 0 && !from.damaged && from.byte() == 0 && from.damaged;

  const texts = new Texts();
  const words = ["12345678b", "b", "12345678a", "", "12345678"];
  for (let i = 0; i < words.length; i++) {
    const utf8 = String.UTF8.encode(words[i]);
    texts.add(changetype<usize>(utf8), utf8.byteLength);
  }
  texts.sort();
  let list = "";
  for (let i = 0; i < texts.length; i++) {
    if (i > 0 && compareBytes(texts.at(i - 1), texts.size(i - 1), texts.at(i), texts.size(i)) >= 0) list += "!";
    list += String.UTF8.decodeUnsafe(texts.at(i), texts.size(i)) + ",";
  }
  return jsonString((same ? "same " : "different ") + list);
}

fixedAggregate<None>({
  name: "numbers",
  outputs: [sum, product, quotient, rest, shifted, logical, turned, mixed, narrow, whole, bits, text, across],
  params: [a, b, f],
});
