// Command visits is a process function that counts the firings of each key and of each of
// its windows. It shows how states are upgraded.
package main

import (
	"encoding/binary"
	"errors"

	tidemark "tidemark/sdk/go"
)

var (
	ofKey    = tidemark.OutInt64("of_key")
	ofWindow = tidemark.OutInt64("of_window")

	keys    = tidemark.FixedState[int64]()
	windows = tidemark.FixedState[int64]()

	errKey    = errors.New("the count of a key has 4 bytes")
	errWindow = errors.New("the count of a window has 1 byte")
)

func count(f *tidemark.Firing) error {
	k, _ := keys.Get(f)
	w, _ := windows.Get(f)
	keys.Set(f, k+1)
	windows.Set(f, w+1)
	row := f.Emit()
	ofKey.Set(row, k+1)
	ofWindow.Set(row, w+1)
	return nil
}

// Schema 1 counted keys in 4 bytes and windows in one.
func fromSmall(old []byte, what tidemark.Kept) ([]byte, error) {
	switch {
	case what == tidemark.KeptOfKey && len(old) == 4:
		return binary.LittleEndian.AppendUint64(nil, uint64(binary.LittleEndian.Uint32(old))), nil
	case what == tidemark.KeptOfKey:
		return nil, errKey
	case len(old) == 1:
		return binary.LittleEndian.AppendUint64(nil, uint64(old[0])), nil
	}
	return nil, errWindow
}

var plugin = tidemark.Process(tidemark.ProcessSpec{
	Name: "visits", Version: "2.0.0",
	Outputs:  []tidemark.Output{ofKey, ofWindow},
	KeyState: keys, WindowState: windows,
	Schema:   2,
	Upgrades: []tidemark.Upgrade{tidemark.UpgradeBytes(1, fromSmall)},
}, count)

func main() {}
