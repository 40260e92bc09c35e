// A process function that keeps bytes of keys and a struct of windows, both of which were
// something else.
import { BytesState, FixedState, Int64Output, processFunction, UpgradeBytes, UpgradeFrom } from "tidemark";

class Old {
  n: i32 = 0;
}

class New {
  one: i32 = 1;
  was: i32 = 0;
  two: i32 = 2; // 16 bytes in the host's keeping
}

processFunction({
  name: "kept", version: "5", outputs: [new Int64Output("n")], keyState: new BytesState(), windowState: new FixedState<New>(), schema: 5,
  upgrades: [
    new UpgradeFrom<Old, New>(2, (old, now) => { now.was = old.n; return null; }),
    new UpgradeBytes(4, (old, what, now) => {
      now.byte(0x30 + <u8>what);
      return old.left == 1 ? "a single byte" : null;
    }),
  ],
}, (_f) => null);
