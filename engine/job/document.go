package job

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	// maxFileBytes: a job of 20 lines is 1 KB; what is larger than this is something
	// else, perhaps the data.
	maxFileBytes = 1 << 20
	maxDepth     = 16     // levels of nesting; the shape needs 6
	maxNodes     = 50_000 // keys and values: the limits on names keep real jobs far below
)

// node is a YAML value with its place. The tree is plain: anchors are refused and
// variables are filled in when it is made.
type node struct {
	kind nodeKind
	at   place // of the value
	key  place // of the key that it stands under; at where there is none

	// Scalars: tag is what YAML takes the text for (!!str, !!int …), shown the text
	// as it is written, for messages and listings; they differ if filled is set,
	// and then text may be a secret.
	tag, text, shown string
	filled           bool

	entries []entry // mappings, in order
	items   []*node // sequences
}

type nodeKind uint8

const (
	scalarNode nodeKind = iota
	mappingNode
	sequenceNode
)

type entry struct {
	key   string
	value *node
}

// find returns the value of a key of a mapping, or nil.
func (n *node) find(key string) *node {
	if n == nil {
		return nil
	}
	for i := range n.entries {
		if n.entries[i].key == key {
			return n.entries[i].value
		}
	}
	return nil
}

// parse reads the job file. It returns nil after reporting what keeps it from being
// read at all.
func (r *reader) parse(src []byte) *node {
	top := place{line: 1, col: 1}
	if len(src) > maxFileBytes {
		r.report(top, "the job file has %d bytes, at most %d are read", len(src), maxFileBytes)
		return nil
	}
	dec := yaml.NewDecoder(bytes.NewReader(src))
	var doc, second yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		r.report(top, "the job file is empty; it needs version, job, sources, steps and sinks")
		return nil
	} else if err != nil {
		r.syntax(src, err)
		return nil
	}
	if err := dec.Decode(&second); err == nil {
		r.report(place{line: second.Line, col: second.Column}, "a second YAML document begins here; a job file holds one")
		return nil
	} else if !errors.Is(err, io.EOF) {
		r.syntax(src, err)
		return nil
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 {
		r.report(top, "the job file holds no YAML value")
		return nil
	}
	budget := maxNodes
	return r.convert(doc.Content[0], maxDepth, &budget)
}

// syntax reports that the file is not YAML. The parser's own line is that of the
// enclosing construct, or missing, so the line is looked for.
func (r *reader) syntax(src []byte, err error) {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	said := 1
	if m := regexp.MustCompile(`^line (\d+): `).FindStringSubmatch(text); m != nil {
		text = text[len(m[0]):]
		said, _ = strconv.Atoi(m[1])
	}
	lines := bytes.SplitAfter(src, []byte("\n"))
	line := min(brokenLine(lines, said), len(lines))
	bad := string(bytes.TrimRight(lines[line-1], "\r\n"))
	body := strings.TrimLeft(bad, " \t")
	fix := ""
	switch indent := bad[:len(bad)-len(body)]; {
	case strings.Contains(indent, "\t"):
		fix = "; the line is indented by a tab, YAML takes spaces"
	case strings.Contains(text, "mapping values are not allowed"):
		fix = "; is the line indented as its neighbours, or does a value with \": \" want quotes?"
	case strings.Contains(body, "${"):
		fix = "; inside { } and [ ] a ${VAR} wants quotes"
	}
	r.report(place{line: line, col: len(bad) - len(body) + 1}, "not valid YAML: %s%s", text, fix)
}

// brokenLine returns the line behind the longest run of lines from the top that
// parses. It looks among the lines without indentation first, then inside the
// section found; said is the answer where that would take too long.
func brokenLine(lines [][]byte, said int) int {
	const maxParsed = 1 << 20 // bytes, well below a second

	ends := make([]int, len(lines)+1) // where the first n lines end
	for i, l := range lines {
		ends[i+1] = ends[i] + len(l)
	}
	src := bytes.Join(lines, nil)
	parsed := 0
	parses := func(n int) bool {
		parsed += ends[n]
		return yaml.Unmarshal(src[:ends[n]], new(yaml.Node)) == nil
	}
	section, next := 0, len(lines)
	for n := len(lines) - 1; n > 0 && parsed < maxParsed; n-- {
		if l := lines[n]; len(l) == 0 || bytes.IndexByte([]byte(" \t\r\n#"), l[0]) >= 0 {
			continue
		}
		if parses(n) {
			section = n
			break
		}
		next = n
	}
	good := next - 1
	for good > section && parsed < maxParsed && !parses(good) {
		good--
	}
	if parsed >= maxParsed {
		return max(said, section+1)
	}
	return good + 1
}

// convert makes a node of a YAML node, and reports and drops what job files may
// not hold. It returns nil for a value that is dropped.
func (r *reader) convert(y *yaml.Node, depth int, budget *int) *node {
	at := place{line: y.Line, col: y.Column}
	if *budget--; *budget < 0 || depth == 0 {
		if *budget == -1 || depth == 0 {
			r.report(at, "the job file is nested deeper than %d levels or holds more than %d values", maxDepth, maxNodes)
		}
		return nil
	}
	switch {
	case y.Kind == yaml.AliasNode || y.Anchor != "":
		r.report(at, "anchors (&) and aliases (*) are not taken; write the value out")
		return nil
	case y.Style&yaml.TaggedStyle != 0:
		r.report(at, "the tag %s is not taken; leave it out", y.Tag)
		return nil
	}
	n := &node{at: at, key: at}
	switch y.Kind {
	case yaml.MappingNode:
		n.kind = mappingNode
		for i := 0; i+1 < len(y.Content); i += 2 {
			k := y.Content[i]
			kat := place{line: k.Line, col: k.Column}
			switch {
			case k.Kind == yaml.ScalarNode && k.ShortTag() == "!!merge":
				r.report(kat, "merge keys (<<) are not taken; write the values out")
				continue
			case k.Kind != yaml.ScalarNode || k.Anchor != "" || k.Style&yaml.TaggedStyle != 0:
				r.report(kat, "a key is plain text")
				continue
			}
			if first := n.find(k.Value); first != nil {
				r.report(kat, "the key %s stands here twice, first in line %d", k.Value, first.key.line)
				continue
			}
			v := r.convert(y.Content[i+1], depth-1, budget)
			if v == nil {
				// The key stays, so that it is not reported as missing as well.
				v = &node{at: kat, tag: tagDropped}
			}
			v.key = kat
			n.entries = append(n.entries, entry{k.Value, v})
		}
	case yaml.SequenceNode:
		n.kind = sequenceNode
		for _, c := range y.Content {
			if item := r.convert(c, depth-1, budget); item != nil {
				n.items = append(n.items, item)
			}
		}
	default:
		n.text, n.shown, n.tag = y.Value, y.Value, y.ShortTag()
		r.fill(n)
	}
	return n
}

// tagDropped marks a value that was reported already: readers stay silent on it.
const tagDropped = "dropped"

// fill puts variables into a scalar: ${VAR}, or ${VAR:default} for one that may be
// unset. $${ stands for ${ itself.
func (r *reader) fill(n *node) {
	if !strings.Contains(n.text, "${") {
		return
	}
	var out strings.Builder
	rest := n.text
	for {
		i := strings.Index(rest, "${")
		if i < 0 {
			break
		}
		if i > 0 && rest[i-1] == '$' {
			out.WriteString(rest[:i-1] + "${")
			rest = rest[i+2:]
			continue
		}
		out.WriteString(rest[:i])
		inside, after, closed := strings.Cut(rest[i+2:], "}")
		name, preset, hasPreset := strings.Cut(inside, ":")
		if !closed || !variableName.MatchString(name) {
			r.report(n.at, "%s is not a variable: write ${NAME} or ${NAME:default}, or $${ for the text itself", quote(rest[i:]))
			n.tag = tagDropped
			return
		}
		rest = after
		n.filled = true
		if r.o.Env == nil {
			r.report(n.at, "the variable ${%s} cannot be used: a host fills in no variables; write the value", name)
			n.tag = tagDropped
			return
		}
		value, ok := r.o.Env(name)
		switch {
		case !ok && !hasPreset:
			r.report(n.at, "the variable %s is not set; set it, or give a default: ${%s:…}", name, name)
			n.tag = tagDropped
			return
		case !ok:
			value = preset
		}
		out.WriteString(value)
	}
	n.text = out.String() + rest
	if !n.filled { // only escapes
		n.shown = n.text
	}
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// describe names what a node is, for "is …" in messages. A filled-in value is shown
// by its variable.
func (n *node) describe() string {
	switch {
	case n.kind == mappingNode && len(n.entries) == 0:
		return "an empty mapping"
	case n.kind == mappingNode:
		return "a mapping"
	case n.kind == sequenceNode:
		return "a list"
	case n.tag == "!!null" && !n.filled:
		return "empty"
	case n.tag == "!!str" && n.text == "":
		return "empty text"
	}
	return quote(n.shown)
}

// quote shortens text from the job file and puts it on one line for a message.
func quote(s string) string {
	const most = 60
	if strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c == 0xFFFD }) || s == "" || s != strings.TrimSpace(s) {
		s = strconv.Quote(s)
	}
	if len(s) > most {
		s = fmt.Sprintf("%s…", strings.ToValidUTF8(s[:most], ""))
	}
	return s
}
