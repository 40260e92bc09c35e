// A plug-in for a join of orders with payments: what of an order a payment leaves open.
import { Float64Input, Float64Output, Float64Param, Int64Output, Pair, pairFunction } from "tidemark";

const due = new Float64Input("due");
const paid = new Float64Input("paid");
const tolerance = new Float64Param("tolerance").defaultsTo(0);
const open = new Float64Output("open"); // below 0: too much was paid
const waited = new Int64Output("waited_ms");

function settle(p: Pair): string | null {
  if (paid.of(p.right) < 0) return "paid is below 0";
  const rest = due.of(p.left) - paid.of(p.right);
  if (Math.abs(rest) <= tolerance.value) return null;
  const w = p.emit();
  open.set(w, rest);
  if (p.leftTimed && p.rightTimed) waited.set(w, p.rightTime - p.leftTime);
  return null;
}

pairFunction({
  name: "unpaid",
  version: "1.0.0",
  left: [due],
  right: [paid],
  outputs: [open, waited],
  params: [tolerance],
}, settle);
