package spec

import (
	"bytes"
	_ "embed" // the scenarios travel with the binary
	"fmt"
)

//go:embed vectors.json
var vectors []byte

// Published returns the scenarios of vectors.json.
func Published() []Scenario {
	s, err := Read(bytes.NewReader(vectors))
	if err != nil {
		panic(fmt.Sprintf("BUG: vectors.json: %v", err))
	}
	return s
}
