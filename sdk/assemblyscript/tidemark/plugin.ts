// What plug-ins of all kinds share: registration, arguments, and the way of a call to
// what serves it.
import { bindInputs, Input } from "./column";
import { Frame, refuses, Status } from "./frame";
import { jsonString } from "./json";
import { checkModule, Json } from "./manifest";
import { ModuleSpec } from "./spec";

/** The calls that carry a frame (abi/SPEC.md, section 4). */
export const enum Op { CONFIGURE, CREATE, ADD, MERGE, RESULT, APPLY, PROCESS, PAIR, MAP, WATERMARK, TICK, TRIGGER, ASSIGN, UPGRADE }

/** A registered plug-in. */
export abstract class Plugin {
  private ready: bool = false; // configured

  /** what is the kind's name for people, kind that of its member in the manifest. */
  constructor(readonly spec: ModuleSpec, readonly what: string, private kind: string) {}

  /** What is wrong with the declaration, beside name, version and params; null: nothing. */
  abstract check(): string | null;

  /** Writes the members of the kind's object in the manifest. The declaration has passed check. */
  protected abstract describe(to: Json): void;

  /** Serves a call other than tm_configure, which may be one of another kind. */
  protected abstract serve(o: Op, f: Frame): Status;

  /** Lets go of memory that was kept for the next call. */
  rest(): void {}

  /** Serves one call on a frame that lies in the room bytes of the arena that are left. */
  call(o: Op, f: Frame, room: u32): Status {
    if (!f.opens(room)) return Status.BAD_FRAME;
    if (o == Op.CONFIGURE) return this.configure(f);
    return this.ready ? this.serve(o, f) : Status.BAD_FRAME;
  }

  private configure(f: Frame): Status {
    const params = this.spec.params;
    const columns: Input[] = [];
    for (let i = 0; i < params.length; i++) columns.push(params[i].column);
    if (f.rows != 1 || !bindInputs(f, columns)) return Status.BAD_FRAME;
    for (let i = 0; i < params.length; i++) params[i].take();
    const configure = this.spec.configure;
    if (configure !== null) {
      const why = configure();
      if (refuses(why)) return f.refuse(why);
    }
    this.ready = true;
    return Status.OK;
  }

  /** The manifest's JSON. */
  manifest(): string {
    const body = new Json();
    this.describe(body);
    const all = new Json();
    all.text("name", this.spec.name);
    all.text("version", this.spec.version);
    all.text("sdk", "assemblyscript");
    all.member(this.kind, body.object());
    return all.object();
  }
}

/** The module's plug-in; null: none yet. */
export let registered: Plugin | null = null;

/**
 * Checks the declaration and registers it. A mistake is the author's and shows when
 * the module starts for the first time, in `tidemark plugin build`.
 */
export function register(p: Plugin): void {
  const problem = problemOf(p);
  if (problem !== null) mistake(p.what, p.spec, problem);
  const other = registered;
  if (other !== null) {
    throw new Error("tidemark: a module registers one plug-in, this one has " +
      jsonString(other.spec.name) + " and " + jsonString(p.spec.name));
  }
  registered = p;
}

/** What is wrong with a declaration; null: nothing. */
export function problemOf(p: Plugin): string | null {
  const problem = checkModule(p.spec);
  return problem !== null ? problem : p.check();
}

/** Ends the module for a mistake in the declaration of a plug-in. */
export function mistake(what: string, s: ModuleSpec, problem: string): void {
  throw new Error("tidemark: " + what + " " + jsonString(s.name) + ": " + problem);
}
