// Command every is a trigger that fires a window at every n-th record, and at nothing else.
// It shows how the state of a trigger is upgraded.
package main

import (
	"encoding/binary"
	"errors"

	tidemark "tidemark/sdk/go"
)

var (
	n     = tidemark.ParamInt64("n").Default(2)
	state = tidemark.FixedState[int64]() // records since the last firing

	errN      = errors.New("n must be at least 1")
	errDigits = errors.New("a count is no number of 1 to 9 digits")
)

func element(p *tidemark.Pane) (tidemark.Verdict, error) {
	count, _ := state.Get(p)
	if count+1 >= n.Value() {
		state.Clear(p)
		return tidemark.Fire, nil
	}
	state.Set(p, count+1)
	return tidemark.Continue, nil
}

// Schema 1 wrote the count as a decimal number.
func fromDigits(old []byte, _ tidemark.Kept) ([]byte, error) {
	if len(old) < 1 || len(old) > 9 {
		return nil, errDigits
	}
	count := uint64(0)
	for _, c := range old {
		if c < '0' || c > '9' {
			return nil, errDigits
		}
		count = 10*count + uint64(c-'0')
	}
	return binary.LittleEndian.AppendUint64(nil, count), nil
}

var plugin = tidemark.Triggers(tidemark.TriggerSpec{
	Name: "every", Version: "2.0.0",
	Params:   []tidemark.Param{n},
	State:    state,
	Schema:   2,
	Upgrades: []tidemark.Upgrade{tidemark.UpgradeBytes(1, fromDigits)},
	Configure: func() error {
		if n.Value() < 1 {
			return errN
		}
		return nil
	},
	Element: element,
})

func main() {}
