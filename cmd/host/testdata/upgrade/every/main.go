// Command every is schema 1 of the standard plug-in of that name: it writes how many records
// there were since the last firing as a decimal number.
package main

import (
	"strconv"

	tidemark "tidemark/sdk/go"
)

var (
	n     = tidemark.ParamInt64("n").Default(2)
	state = tidemark.BytesState()
)

func element(p *tidemark.Pane) (tidemark.Verdict, error) {
	count := int64(1)
	if b := state.Get(p); len(b) > 0 {
		before, err := strconv.ParseInt(string(b), 10, 64)
		if err != nil {
			return tidemark.Continue, err
		}
		count += before
	}
	if count >= n.Value() {
		state.Set(p, nil)
		return tidemark.Fire, nil
	}
	state.Set(p, strconv.AppendInt(nil, count, 10))
	return tidemark.Continue, nil
}

var plugin = tidemark.Triggers(tidemark.TriggerSpec{
	Name: "every", Version: "1.0.0", Params: []tidemark.Param{n}, State: state, Element: element,
})

func main() {}
