import { Input } from "./column";
import { Output } from "./output";
import { Param } from "./param";
import { Upgrade } from "./upgrade";

/** What the description of every plug-in has. It becomes the module's manifest. */
export class ModuleSpec {
  /** [a-z][a-z0-9_-]{0,62} */
  name: string = "";
  /** Free text of at most 64 bytes. */
  version: string = "";
  params: Param[] = [];
  /**
   * Checks the arguments, once on each instance, before anything else; null accepts
   * all. A text in place of null refuses the job's arguments.
   */
  configure: (() => string | null) | null = null;
}

/** Describes an aggregate. */
export class Spec extends ModuleSpec {
  inputs: Input[] = [];
  outputs: Output[] = [];
  /** The version of the accumulator's layout, to be raised when it changes. */
  schema: i32 = 1;
  /** The older layouts that it converts from. */
  upgrades: Upgrade[] = [];
  /**
   * The result does not depend on the order of records and merges. Hosts need it to
   * share work between overlapping windows.
   */
  orderInsensitive: bool = false;
  /**
   * Merging in any shape gives the same bits as one pass. Sums of floating-point
   * numbers are not exact.
   */
  exact: bool = false;
}
