// It imports the SDK and registers nothing.
import { Int64Output } from "tidemark";

export const n = new Int64Output("n");
