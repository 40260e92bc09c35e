//go:build !unix

package env

import "io/fs"

func fileNumber(fs.FileInfo) uint64 { return 0 }
