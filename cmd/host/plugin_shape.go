package main

import (
	"fmt"
	"io"
	"os"

	"tidemark/abi/meter"
	"tidemark/internal/fault"
)

// maxLargeShown bounds how many large functions are named.
const maxLargeShown = 5

// shapeView is how a module's functions are built: the largest number of each sort, which
// need not be of one function, and those that are too large for some hosts.
type shapeView struct {
	Bytes        int         `json:"function_bytes"`
	Blocks       int         `json:"blocks"`
	Nesting      int         `json:"nesting"`
	Labels       int         `json:"br_table_labels"`
	Locals       int         `json:"locals"`
	DataSegments int         `json:"data_segments"`
	Newer        []string    `json:"newer_proposals"`
	Unread       int         `json:"functions_unread,omitempty"`
	LargeCount   int         `json:"large_functions"`
	Large        []largeView `json:"largest"`
}

type largeView struct {
	Index uint32 `json:"index"`
	Name  string `json:"name,omitempty"`
	Bytes int    `json:"bytes"`
}

// String names a function and its size.
func (l largeView) String() string {
	s := fmt.Sprintf("%s bytes: function %d", thousands(int64(l.Bytes)), l.Index)
	if l.Name != "" {
		s += ", " + clip(l.Name, 200)
	}
	return s
}

func viewShape(s *meter.Shapes) *shapeView {
	l := s.Largest()
	v := &shapeView{
		Bytes: l.Bytes, Blocks: l.Blocks, Nesting: l.Nesting, Labels: l.Labels, Locals: l.Locals,
		DataSegments: s.DataSegments, Newer: append([]string{}, s.Newer...), Unread: s.Unread, Large: []largeView{},
	}
	large := s.Above(meter.LargeCode)
	v.LargeCount = len(large)
	for _, f := range large[:min(len(large), maxLargeShown)] {
		v.Large = append(v.Large, largeView{f.Index, f.Name, f.Bytes})
	}
	return v
}

// measureFile reads a file that is WebAssembly and tells how its functions are built.
func measureFile(name string) (*shapeView, error) {
	file, err := os.ReadFile(name)
	if err != nil {
		return nil, fault.As(fault.ErrUser, err)
	}
	s, err := meter.Measure(file)
	if err != nil {
		return nil, err
	}
	return viewShape(s), nil
}

func (v *shapeView) show(line func(name, format string, args ...any)) {
	line("shape", "at most %s, %s in each other, %s of a br_table, %s in a function; %s", count(int64(v.Blocks), "block"), thousands(int64(v.Nesting)),
		count(int64(v.Labels), "label"), count(int64(v.Locals), "local"), count(int64(v.DataSegments), "data segment"))
	for _, n := range v.Newer {
		line("beyond 1.0", "%s", n)
	}
	if v.LargeCount > 0 {
		line("large", "%s", v.large())
	}
	for _, l := range v.Large {
		line("", "- %s", l)
	}
}

// large says in words what functions are too large for a JVM.
func (v *shapeView) large() string {
	return fmt.Sprintf("%s of more than %s bytes of code, which a JVM does not compile but interprets", count(int64(v.LargeCount), "function"), thousands(meter.LargeCode))
}

// warn is the line of plugin check; nothing is said of modules without such functions.
func (v *shapeView) warn(w io.Writer) {
	if v.LargeCount > 0 {
		checkLine(w, "warning", "large", "%s; the largest has %s", v.large(), v.Large[0])
	}
}
