// Package sdk carries the SDKs' sources inside the host, so that `plugin new` writes
// projects that build without a network. It does nothing.
package sdk

import "embed"

// Files holds go/, the Go SDK with its tests, and template/, one folder for each
// language of `plugin new`, with one for each kind of plug-in in it.
//
//go:embed go/*.go template
var Files embed.FS
