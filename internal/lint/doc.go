// Package lint holds the rules of the house that a compiler does not check: who may
// import whom, and where time, files, randomness, YAML, HTTP, the Wasm runtime and
// the metrics library may enter. It is tests only; nothing imports it.
package lint
