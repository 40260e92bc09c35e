// Parameters: what a job gives to the aggregate.
import { BoolInput, Float64Input, Input, Int64Input, StringInput } from "./column";
import { Kind } from "./frame";
import { jsonString } from "./json";

/**
 * An argument of the job. Its value stands from the call of Spec.configure on, for the
 * life of the instance.
 */
export abstract class Param {
  /** Whether the job or a default gave a value. Without one, value is 0, false or the empty text. */
  given: bool = false;
  isRequired: bool = false;
  /** The default as JSON; null: none. */
  fallback: string | null = null;
  /** What is wrong with the default; null: nothing. */
  problem: string | null = null;

  /** column reads the argument out of the frame of tm_configure. */
  constructor(readonly column: Input) {}

  get name(): string { return this.column.name; }
  get kind(): Kind { return this.column.kind; }

  /** Takes the value out of the column, which is bound. Called by the SDK. */
  take(): void {
    this.given = !this.column.isNull(0);
  }
}

/** A whole number. */
export class Int64Param extends Param {
  value: i64 = 0;

  constructor(name: string) { super(new Int64Input(name)); }

  /** Makes it a mistake of the job to leave the parameter out. */
  required(): Int64Param {
    this.isRequired = true;
    return this;
  }

  /** Gives the value of a job that leaves the parameter out. */
  defaultsTo(v: i64): Int64Param {
    this.fallback = v.toString();
    return this;
  }

  take(): void {
    super.take();
    this.value = (this.column as Int64Input).of(0);
  }
}

/** A floating-point number. */
export class Float64Param extends Param {
  value: f64 = 0;

  constructor(name: string) { super(new Float64Input(name)); }

  /** Makes it a mistake of the job to leave the parameter out. */
  required(): Float64Param {
    this.isRequired = true;
    return this;
  }

  /** Gives the value of a job that leaves the parameter out; it must be finite. */
  defaultsTo(v: f64): Float64Param {
    if (!isFinite(v)) this.problem = "has a default that is not finite";
    this.fallback = v.toString();
    return this;
  }

  take(): void {
    super.take();
    this.value = (this.column as Float64Input).of(0);
  }
}

/** A truth value. */
export class BoolParam extends Param {
  value: bool = false;

  constructor(name: string) { super(new BoolInput(name)); }

  /** Makes it a mistake of the job to leave the parameter out. */
  required(): BoolParam {
    this.isRequired = true;
    return this;
  }

  /** Gives the value of a job that leaves the parameter out. */
  defaultsTo(v: bool): BoolParam {
    this.fallback = v ? "true" : "false";
    return this;
  }

  take(): void {
    super.take();
    this.value = (this.column as BoolInput).of(0);
  }
}

/** A text. */
export class StringParam extends Param {
  value: string = "";

  constructor(name: string) { super(new StringInput(name)); }

  /** Makes it a mistake of the job to leave the parameter out. */
  required(): StringParam {
    this.isRequired = true;
    return this;
  }

  /** Gives the value of a job that leaves the parameter out, at most 4,096 bytes. */
  defaultsTo(v: string): StringParam {
    if (String.UTF8.byteLength(v) > 4096) this.problem = "has a default of more than 4096 bytes";
    this.fallback = jsonString(v);
    return this;
  }

  take(): void {
    super.take();
    this.value = (this.column as StringInput).of(0);
  }
}
