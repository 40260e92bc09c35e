// Package laws checks what a host relies on and cannot see: the laws of user functions
// (abi/SPEC.md, section 6), on records that are generated or an author's own. Built-in
// functions and guests are judged alike, over the contracts of package udf.
//
// A law that does not hold is shown on the smallest input that could be found. What a
// function refuses is no fault: a comparison in which one side is refused says nothing.
//
// Everything here follows from the records and the seed. One goroutine uses a check.
package laws
