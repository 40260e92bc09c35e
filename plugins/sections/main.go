// Command sections is a function of single records: of a record with the path of a URL it
// makes one for each section that the path lies in, so that counts of sections include what
// is below them. "/blog/2015/cats.html" lies in "/", "/blog" and "/blog/2015". Paths that do
// not begin with a slash are not of this server, and give none.
package main

import (
	"bytes"
	"errors"

	tidemark "tidemark/sdk/go"
)

var (
	path = tidemark.String("path")

	depth = tidemark.ParamInt64("depth").Default(3)

	section = tidemark.OutString("section")
	level   = tidemark.OutInt64("level")

	errDepth = errors.New("depth must be from 1 to 100")
)

func split(m *tidemark.Mapped) error {
	p := path.Bytes(m.Row())
	if len(p) == 0 || p[0] != '/' {
		return nil
	}
	if end := bytes.IndexAny(p, "?#"); end >= 0 {
		p = p[:end]
	}
	emit(m, p[:1], 0)
	for at, n := 1, int64(1); n < depth.Value(); n++ {
		next := bytes.IndexByte(p[at:], '/')
		if next < 0 {
			break
		}
		if at += next; next > 0 { // two slashes are one
			emit(m, p[:at], n)
		} else {
			n--
		}
		at++
	}
	return nil
}

func emit(m *tidemark.Mapped, name []byte, n int64) {
	w := m.Emit()
	section.SetBytes(w, name)
	level.Set(w, n)
}

var plugin = tidemark.Map(tidemark.MapSpec{
	Name: "sections", Version: "1.0.0",
	Inputs:  []tidemark.Input{path},
	Outputs: []tidemark.Output{section, level},
	Params:  []tidemark.Param{depth},
	Configure: func() error {
		if d := depth.Value(); d < 1 || d > 100 {
			return errDepth
		}
		return nil
	},
}, split)

func main() {}
