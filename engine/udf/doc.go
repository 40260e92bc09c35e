// Package udf holds the contracts of all user code as the engine sees it,
// vectorised: one call carries many records.
//
// Built-in functions (engine/agg) and Wasm guests (engine/wasm) are two
// implementations of the same contracts, so the engine never asks which of them
// it has. The package decides nothing and holds no state.
package udf
