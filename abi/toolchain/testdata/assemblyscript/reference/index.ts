// It declares an accumulator that cannot lie in a frame.
import { fixedAggregate, Int64Output, Row } from "tidemark";

class Names {
  all: string[] = [];

  add(r: Row): string | null { return null; }
  merge(o: Names): string | null { return null; }
  result(w: Row): string | null { return null; }
}

fixedAggregate<Names>({ name: "reference", outputs: [new Int64Output("n")] });
