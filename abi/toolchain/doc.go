// Package toolchain makes plug-ins out of sources: it writes new projects, calls the
// compiler of the language that they are written in, asks the fresh module for its
// manifest and puts version and manifest into it, as abi/SPEC.md, section 1 asks.
//
// It is for people at their own machine: it starts processes and runs the module
// that it has just built. The commands `plugin new` and `plugin build` call it; no
// host does.
package toolchain
