// How text leaves the module. The runtime calls abort, so the compiler runs the top
// level of this file first of all, before there is memory for objects: it makes none.

// @ts-ignore: decorator
@external("wasi_snapshot_preview1", "fd_write")
declare function fd_write(fd: i32, parts: usize, n: i32, written: usize): i32;

/** A part of the text: its address and size; and behind it what fd_write has written. */
const part = memory.data(12, 4);

function print(text: string): void {
  const bytes = String.UTF8.encode(text, false, String.UTF8.ErrorMode.REPLACE);
  store<u32>(part, changetype<usize>(bytes));
  store<u32>(part, bytes.byteLength, 4);
  fd_write(2, part, 1, part + 8);
}

/**
 * Writes a line to the host's log of this call. A host keeps the first and the last
 * 2,048 bytes and shows them when the call traps; unit tests print them.
 */
export function log(text: string): void {
  print(text + "\n");
}

let ending = false; // printing may fail, too

/** What `throw` and failed assertions call: prints text and place, and ends the instance. */
export function abort(message: string | null, file: string | null, line: u32, column: u32): void {
  if (!ending) {
    ending = true;
    print("panic: " + (message === null ? "no message" : message) + "\n\tat " +
      (file === null ? "?" : file) + ":" + line.toString() + ":" + column.toString() + "\n");
  }
  unreachable();
}
