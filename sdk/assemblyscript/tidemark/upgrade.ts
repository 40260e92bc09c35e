// Upgrades: what a plug-in has kept in a layout that it had once, in that of today.
import { Bytes, Reader } from "./bytes";
import { Frame, refuses, Status } from "./frame";
import { Block } from "./items";
import { answerPiece, Pieces } from "./pieces";
import { checkPlain, widthOf } from "./plain";

/** What a state is that is upgraded: KEY is of a process function, WINDOW of one or of a trigger, SPLIT of a watermark generator. */
export const enum KeptOf { ACCUMULATOR, KEY, WINDOW, SPLIT }

/**
 * An older layout of what a plug-in keeps, and how to make today's of it: a job goes on from
 * a checkpoint that an older version of the plug-in has written. Without it a changed layout,
 * which has another schema, means that such a state is given up. Each is from one older
 * schema, and they are not chained: to go from 1 to 3 takes one from 1. A text in place of
 * null ends the start of the job, whose checkpoint stays as it is.
 *
 *     class TallyV1 { sum: f64 = 0; } // as it was with schema 1
 *
 *     schema: 2,
 *     upgrades: [new UpgradeFrom<TallyV1, Tally>(1, (old, now) => {
 *       now.sum = old.sum;
 *       now.count = -1; // nobody has counted them
 *       return null;
 *     })],
 */
export abstract class Upgrade {
  /** What is wrong with the declaration; null: nothing. */
  problem: string | null = null;

  /** width is the bytes of old accumulators of a fixed size; 0: they varied. */
  constructor(readonly schema: i32, readonly width: u32) {}

  /** Makes what is kept today of size bytes at an address; a text refuses it. Called by the SDK. */
  abstract convert(what: KeptOf, at: usize, size: i32, to: Bytes): string | null;
}

/** Of classes of plain fields: accumulators of fixedAggregate, and what is in a FixedState. now is as its class declares it. */
export class UpgradeFrom<Old, New> extends Upgrade {
  private was: Old | null = null; // made when it is needed: arguments are known then
  private now: New | null = null;
  private fresh: New | null = null;

  constructor(schema: i32, private fn: (old: Old, now: New) => string | null) {
    super(schema, widthOf<Old>());
    this.problem = checkPlain<Old>("accumulator or state", "use UpgradeBytes");
    if (this.problem === null) this.problem = checkPlain<New>("accumulator or state", "use UpgradeBytes");
  }

  convert(_what: KeptOf, at: usize, size: i32, to: Bytes): string | null {
    if (size != widthOf<Old>()) return "a state of an older schema has another size than its type";
    if (this.fresh === null) {
      this.fresh = instantiate<New>();
      this.now = instantiate<New>();
      this.was = instantiate<Old>();
    }
    const was = this.was!, now = this.now!;
    memory.copy(changetype<usize>(was), at, offsetof<Old>());
    memory.copy(changetype<usize>(now), changetype<usize>(this.fresh!), offsetof<New>());
    const why = this.fn(was, now), out = to.extend(widthOf<New>());
    memory.fill(out + offsetof<New>(), 0, widthOf<New>() - offsetof<New>());
    memory.copy(out, changetype<usize>(now), offsetof<New>());
    return why;
  }
}

/**
 * Of what is bytes: accumulators of variableAggregate, and what is in a BytesState. The
 * function appends today's to now; of a state at least one byte.
 */
export class UpgradeBytes extends Upgrade {
  private reader: Reader = new Reader(0, 0);

  constructor(schema: i32, private fn: (old: Reader, what: KeptOf, now: Bytes) => string | null) {
    super(schema, 0);
  }

  convert(what: KeptOf, at: usize, size: i32, to: Bytes): string | null {
    this.reader.reset(at, size);
    const why = this.fn(this.reader, what, to);
    return why === null && this.reader.damaged ? "a state of an older schema is damaged: its bytes end early" : why;
  }
}

const pieces = new Pieces(), next = new Bytes();

/** Serves a call. width is that of accumulators of a fixed size, 0 of all else. */
export function serveUpgrades(f: Frame, upgrades: Upgrade[], width: u32): Status {
  const at = f.area(f.block, offsetof<Block>());
  if (at == 0 || upgrades.length == 0 || !pieces.open(f, f.acc, f.groups)) return Status.BAD_FRAME;
  const b = changetype<Block>(at);
  let from: Upgrade | null = null;
  for (let i = 0; i < upgrades.length; i++) {
    if (<u32>upgrades[i].schema == b.items) from = upgrades[i]; // the schema
  }
  for (let i: u32 = 0, n = f.groups; i < n; i++) {
    f.op = i;
    next.clear();
    let why: string | null = "the host asks for an upgrade that the plug-in does not have";
    if (from !== null) why = from.convert(<KeptOf>b.keys, pieces.at(i), pieces.size(i), next);
    if (!refuses(why) && width > 0 && next.length != <i32>width) why = "an upgraded accumulator has another size than the accumulators of today";
    if (refuses(why)) return f.refuse(why);
    const status = answerPiece(f, next, i);
    if (status != Status.OK) return status;
  }
  return Status.OK;
}
