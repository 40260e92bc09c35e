// An accumulator of varying size: all texts, in order.
import { Bytes, log, Reader, Row, StringInput, StringOutput, variableAggregate } from "tidemark";

const text = new StringInput("s");
const all = new StringOutput("s");

class Bag {
  texts: Bytes = new Bytes();

  reset(): void { this.texts.clear(); }

  add(r: Row): string | null {
    if (text.of(r) == "pages") log(memory.size().toString());
    this.texts.append(text.at(r), text.size(r));
    return null;
  }

  merge(o: Bag): string | null {
    this.texts.append(o.texts.at, o.texts.length);
    return null;
  }

  result(w: Row): string | null {
    all.setBytes(w, this.texts.at, this.texts.length);
    return null;
  }

  encode(to: Bytes): string | null {
    to.append(this.texts.at, this.texts.length);
    return null;
  }

  decode(from: Reader): string | null {
    const n = from.left;
    this.texts.append(from.take(n), n);
    return null;
  }
}

variableAggregate<Bag>({ name: "joined", inputs: [text], outputs: [all], exact: true });
