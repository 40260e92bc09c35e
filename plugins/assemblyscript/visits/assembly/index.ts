// A plug-in, a process function that counts the firings of each key and of each of its
// windows. It shows how states are upgraded.
import { FixedState, Int64Output, KeptOf, processFunction, UpgradeBytes } from "tidemark";

const ofKey = new Int64Output("of_key");
const ofWindow = new Int64Output("of_window");

class Count {
  n: i64 = 0;
}

const keys = new FixedState<Count>();
const windows = new FixedState<Count>();

// States are copied into these.
const key = new Count();
const window = new Count();

processFunction({
  name: "visits",
  version: "2.0.0",
  outputs: [ofKey, ofWindow],
  keyState: keys,
  windowState: windows,
  schema: 2,
  upgrades: [
    new UpgradeBytes(1, (old, what, now) => { // schema 1 counted keys in 4 bytes and windows in one
      const size = what == KeptOf.KEY ? 4 : 1;
      if (old.left != size) return what == KeptOf.KEY ? "the count of a key has 4 bytes" : "the count of a window has 1 byte";
      const at = old.take(size);
      now.int64(size == 4 ? load<u32>(at) : load<u8>(at));
      return null;
    }),
  ],
}, (f) => {
  keys.get(f, key);
  windows.get(f, window);
  key.n++;
  window.n++;
  keys.set(f, key);
  windows.set(f, window);
  const row = f.emit();
  ofKey.set(row, key.n);
  ofWindow.set(row, window.n);
  return null;
});
