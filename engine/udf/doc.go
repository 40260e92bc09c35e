// Package udf holds the contracts of all user code as the engine sees it,
// vectorised: one call carries many records.
//
// Built-in functions (engine/agg) and Wasm guests (engine/wasm) are two
// implementations of the same contracts, so the engine never asks which of them
// it has. The package holds no state, and decides nothing but who is to blame for a call
// that fails.
package udf
