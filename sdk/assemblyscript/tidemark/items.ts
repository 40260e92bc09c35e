// What functions of all kinds but aggregates share: the loop that shows them the items of
// a frame one by one, where firings, records, pairs and operations are items.
import { answer } from "./answer";
import { Frame, Status } from "./frame";
import { ListBlock, Records } from "./list";
import { checkSchema, checkUpgrades, Json } from "./manifest";
import { Op, Plugin } from "./plugin";
import { ModuleSpec } from "./spec";
import { State } from "./state";
import { serveUpgrades, Upgrade } from "./upgrade";

/** The block of a frame as it lies in memory (abi/SPEC.md, section 3). */
@unmanaged
export class Block {
  items: u32;
  keys: u32;
  nkeys: u32;
  windows: u32;
  nwindows: u32;
  results: u32; // rows of the output columns, of an agenda
  rows0: u32; // two ListBlock
  cols0: u32;
  ncols0: u32;
  rows1: u32;
  cols1: u32;
  ncols1: u32;

  list(n: i32): ListBlock { return changetype<ListBlock>(changetype<usize>(this) + offsetof<Block>("rows0") + n * offsetof<ListBlock>()); }
}

/** A registered function that is shown items. */
export abstract class Items extends Plugin {
  /** The states that the function keeps. */
  protected states: State[] = [];
  /** The older layouts that it converts them from. */
  protected upgrades: Upgrade[] = [];

  constructor(spec: ModuleSpec, what: string, kind: string, private served: Op, protected lists: Records[]) {
    super(spec, what, kind);
  }

  /** Says that the function keeps a state of a sort, unless it is null. */
  protected keep(s: State | null, what: u32): void {
    if (s === null) return;
    s.claim(what);
    this.states.push(s);
  }

  /** Points what an item shows at a frame, and checks what the items name there. The lists are open. */
  protected abstract open(f: Frame, b: Block): bool;

  /** Shows item i; a text refuses it. */
  protected abstract show(i: u32): string | null;

  protected serve(o: Op, f: Frame): Status {
    if (o == Op.UPGRADE) return serveUpgrades(f, this.upgrades, 0);
    return o == this.served ? this.loop(f, this.lists) : Status.BAD_FRAME;
  }

  /** Shows all items of a frame with these lists. */
  protected loop(f: Frame, lists: Records[]): Status {
    const at = f.area(f.block, offsetof<Block>());
    if (at == 0) return Status.BAD_FRAME;
    const b = changetype<Block>(at), states = this.states;
    for (let i = 0; i < lists.length; i++) {
      if (!lists[i].open(f, b.list(i), i)) return Status.BAD_FRAME;
    }
    if (!this.open(f, b)) return Status.BAD_FRAME;
    answer.open(f);
    for (let i: u32 = 0, n = f.rows; i < n; i++) {
      answer.begin(i);
      const why = this.show(i);
      if (changetype<usize>(why) == 0) {
        for (let k = 0; k < states.length; k++) states[k].leave();
      }
      const status = answer.end(why);
      if (status != Status.OK) return status;
    }
    return Status.OK;
  }
}

/** What is wrong with a state and the version of its layout; null: nothing. */
export function checkState(s: State | null, schema: i32): string | null {
  return s !== null && s.problem !== null ? s.problem : checkSchema(schema);
}

/** What is wrong with the upgrades of a function that keeps some states; null: nothing. */
export function checkStateUpgrades(states: i32, schema: i32, upgrades: Upgrade[]): string | null {
  if (states == 0 && upgrades.length > 0) return "it keeps no state, and has upgrades";
  return checkUpgrades(schema, upgrades, -1);
}

/** Writes the member of a function with one state. */
export function describeState(to: Json, s: State | null, schema: i32, upgrades: Upgrade[]): void {
  if (s === null) return;
  const body = new Json();
  body.int("schema", schema);
  body.upgrades(upgrades, false);
  to.member("state", body.object());
}
