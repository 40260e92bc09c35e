// Command visits is schema 1 of the standard plug-in of that name: it counts keys in 4 bytes
// and windows in one. From the fourth firing of a window on it keeps two, which nobody had
// meant, and which later versions therefore refuse.
package main

import (
	"encoding/binary"

	tidemark "tidemark/sdk/go"
)

var (
	ofKey    = tidemark.OutInt64("of_key")
	ofWindow = tidemark.OutInt64("of_window")

	keys    = tidemark.BytesState()
	windows = tidemark.BytesState()
)

func count(f *tidemark.Firing) error {
	var k uint32
	var w byte
	if b := keys.Get(f); len(b) > 0 {
		k = binary.LittleEndian.Uint32(b)
	}
	if b := windows.Get(f); len(b) > 0 {
		w = b[0]
	}
	k, w = k+1, w+1
	keys.Set(f, binary.LittleEndian.AppendUint32(nil, k))
	if windows.Set(f, []byte{w}); w > 3 {
		windows.Set(f, []byte{w, 0})
	}
	row := f.Emit()
	ofKey.Set(row, int64(k))
	ofWindow.Set(row, int64(w))
	return nil
}

var plugin = tidemark.Process(tidemark.ProcessSpec{
	Name: "visits", Version: "1.0.0", Outputs: []tidemark.Output{ofKey, ofWindow}, KeyState: keys, WindowState: windows,
}, count)

func main() {}
