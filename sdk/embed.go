// Package sdk carries the SDKs' sources inside the host, so that `plugin new` writes
// projects that build without a network. It does nothing.
package sdk

import "embed"

// Files holds the SDKs, one folder for each language of `plugin new`, and template/,
// with one for each, too, which has a folder for each kind of plug-in.
//
//go:embed go/*.go c/*.c c/*.h rust/Cargo.toml rust/src assemblyscript/asconfig.json assemblyscript/*.ts assemblyscript/*.js assemblyscript/tidemark/*.ts template
var Files embed.FS
