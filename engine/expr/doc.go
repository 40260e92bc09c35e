// Package expr computes expressions over the fields of a record: filters, derived
// columns and projections, as a udf.Stateless. docs/expressions.md is its manual.
//
// The language is CEL, the Common Expression Language: cel-go parses an expression and
// checks its types when a job is loaded. What it means is computed here, column by
// column: cel-go's interpreter costs ten times as much for each record (see the
// benchmarks). Where both have an answer it is the same; a test compares them. Ours has
// one where a value is null, too.
//
// An expression sees one record, no clock, no randomness, no environment. It has no loops
// and makes a bounded amount of text, so its cost is bounded by its length.
//
// Nulls: any field may be null. == and != take null as a value. An ordering with a null
// is false; so are in and the tests of text, and a null where a truth value is needed.
// Everything else with a null is null.
//
// Failures: what has no answer (a division by zero, an integer that leaves 64 bits)
// makes the record a *udf.Failure, unless && or || or ?: does not need it.
package expr
