package abi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"tidemark/internal/fault"
)

// Manifest says what a module is (SPEC section 2).
type Manifest struct {
	Name    string
	Version string
	SDK     string // free text: what built it
	// One of these is set: what the module is.
	Aggregate *Aggregate
	Process   *Process
	Pair      *Pair
	Generator *Generator
	Map       *Map
	Trigger   *Trigger
	Assigner  *Assigner
}

// Aggregate describes the aggregate of a module.
type Aggregate struct {
	Inputs  []Column
	Outputs []Column
	Params  []Param
	Width   int    // bytes of an accumulator; 0: they vary in size
	Schema  uint32 // version of the accumulator's layout, from 1
	// Upgrades are the older layouts whose accumulators it converts.
	Upgrades []Upgrade

	OrderInsensitive bool
	Exact            bool
	// Apply: it takes several operations on its accumulators, of fixed size, in one call.
	Apply bool
}

// Process describes the process function of a module.
type Process struct {
	Inputs []Column // of a firing
	// Lists are the columns of records: none, one entry, or two for the sides of a coGroup.
	Lists   [][]Column
	Outputs []Column
	Side    []SideOutput
	Params  []Param

	KeyState, WindowState bool
	Schema                uint32 // version of the states' layout, from 1; 0: it keeps none
	Upgrades              []Upgrade
}

// Pair describes the pair function of a module.
type Pair struct {
	Left, Right []Column // of either record
	Outputs     []Column
	Params      []Param
}

// Generator describes the watermark generator of a module.
type Generator struct {
	Inputs   []Column // beside the records' times
	Params   []Param
	Schema   uint32 // version of the layout of a split's state, from 1; 0: it keeps none
	Upgrades []Upgrade
}

// Map describes the function of single records of a module.
type Map struct {
	Inputs, Outputs []Column
	Params          []Param
}

// SideOutput is a further output of a process function.
type SideOutput struct {
	Name    string
	Outputs []Column
}

// Column is an input or an output.
type Column struct {
	Name     string
	Kind     Kind
	Nullable bool // inputs only
}

// Param is a parameter. The field of Default that belongs to Kind counts.
type Param struct {
	Name       string
	Kind       Kind // not Timestamp
	Required   bool
	HasDefault bool
	Default    Value
}

// Value is the value of a parameter, in the field that belongs to its kind.
type Value struct {
	Int   int64
	Float float64
	Bool  bool
	Str   string
}

// maxManifestDepth bounds nesting: the text has four levels.
const maxManifestDepth = 8

// ParseManifest reads a manifest strictly: unknown, repeated and misspelt members,
// wrong types and impossible values are refused, all at once. Errors have class
// fault.ErrUser.
func ParseManifest(text []byte) (*Manifest, error) {
	if len(text) > MaxManifestBytes {
		return nil, fault.Userf("manifest has %d bytes, at most %d are allowed", len(text), MaxManifestBytes)
	}
	if !utf8.Valid(text) {
		return nil, fault.Userf("manifest is not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	root, err := readNode(d, maxManifestDepth)
	if err == nil {
		_, err = d.Token()
		switch {
		case err == io.EOF:
			err = nil
		case err == nil:
			err = errors.New("something follows the object")
		}
	}
	if err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, fault.Userf("manifest is not a JSON object: %w", err)
	}
	r := manifestReader{}
	m := r.manifest(root)
	if len(r.errs) > 0 {
		return nil, fault.As(fault.ErrUser, errors.Join(r.errs...))
	}
	return m, nil
}

// node is a value of JSON with its members in order; encoding/json alone would take
// misspelt case and repeated members for good.
type node struct {
	scalar  json.Token // string, json.Number, bool or nil
	kind    byte       // '{', '[' or 's'
	members []member   // of an object; of an array without names
}

type member struct {
	name  string
	value node
}

func readNode(d *json.Decoder, depth int) (node, error) {
	t, err := d.Token()
	if err != nil {
		return node{}, err
	}
	open, ok := t.(json.Delim)
	if !ok {
		return node{kind: 's', scalar: t}, nil
	}
	if depth == 0 {
		return node{}, errors.New("nested too deeply")
	}
	n := node{kind: byte(open)}
	for d.More() {
		var m member
		if open == '{' {
			name, err := d.Token()
			if err != nil {
				return node{}, err
			}
			m.name = name.(string) // the decoder lets nothing else pass here
		}
		if m.value, err = readNode(d, depth-1); err != nil {
			return node{}, err
		}
		n.members = append(n.members, m)
	}
	_, err = d.Token()
	return n, err
}

// manifestReader turns nodes into a manifest and collects what is wrong.
type manifestReader struct{ errs []error }

func (r *manifestReader) fail(path, format string, args ...any) {
	if path == "" {
		path = "manifest"
	} else {
		path = "manifest " + path
	}
	r.errs = append(r.errs, fmt.Errorf("%s: %s", path, fmt.Sprintf(format, args...)))
}

// object hands each member of n to its reader in known, in the order of the text,
// and tells which were there.
func (r *manifestReader) object(path string, n node, known map[string]func(path string, n node)) map[string]bool {
	seen := map[string]bool{}
	if n.kind != '{' {
		r.fail(path, "must be an object")
		return nil
	}
	for _, m := range n.members {
		at := m.name
		if path != "" {
			at = path + "." + m.name
		}
		read, ok := known[m.name]
		switch {
		case seen[m.name]:
			r.fail(at, "occurs twice")
		case !ok:
			r.fail(at, "unknown member")
		default:
			read(at, m.value)
		}
		seen[m.name] = true
	}
	return seen
}

func (r *manifestReader) need(path string, seen map[string]bool, names ...string) {
	for _, n := range names {
		if seen != nil && !seen[n] {
			if path != "" {
				n = path + "." + n
			}
			r.fail(n, "is missing")
		}
	}
}

func (r *manifestReader) array(path string, n node, most int, each func(path string, n node)) {
	if n.kind != '[' {
		r.fail(path, "must be an array")
		return
	}
	if len(n.members) > most {
		r.fail(path, "has %d entries, at most %d are allowed", len(n.members), most)
		return
	}
	for i, m := range n.members {
		each(path+"["+strconv.Itoa(i)+"]", m.value)
	}
}

func (r *manifestReader) text(dst *string, most int) func(string, node) {
	return func(path string, n node) {
		s, ok := n.scalar.(string)
		switch {
		case !ok:
			r.fail(path, "must be a string")
		case len(s) > most:
			r.fail(path, "has %d bytes, at most %d are allowed", len(s), most)
		default:
			*dst = s
		}
	}
}

func (r *manifestReader) flag(dst *bool) func(string, node) {
	return func(path string, n node) {
		b, ok := n.scalar.(bool)
		if !ok {
			r.fail(path, "must be true or false")
		}
		*dst = b
	}
}

func (r *manifestReader) number(dst *int64, least, most int64) func(string, node) {
	return func(path string, n node) {
		v, err := parseInt(n)
		if err != nil || v < least || v > most {
			r.fail(path, "must be a whole number from %d to %d", least, most)
		}
		*dst = v
	}
}

func (r *manifestReader) manifest(n node) *Manifest {
	m := &Manifest{}
	seen := r.object("", n, map[string]func(string, node){
		"name": func(path string, n node) {
			before := len(r.errs)
			r.text(&m.Name, 63)(path, n)
			if len(r.errs) == before && !isName(m.Name, true) {
				r.fail(path, "%q is no name: lower-case letters, digits, _ and -, a letter first, at most 63", m.Name)
			}
		},
		"version":   r.text(&m.Version, 64),
		"sdk":       r.text(&m.SDK, 64),
		"aggregate": func(path string, n node) { m.Aggregate = r.aggregate(path, n) },
		"process":   func(path string, n node) { m.Process = r.process(path, n) },
		"pair":      func(path string, n node) { m.Pair = r.pair(path, n) },
		"watermark": func(path string, n node) { m.Generator = r.generator(path, n) },
		"map":       func(path string, n node) { m.Map = r.mapping(path, n) },
		"trigger":   func(path string, n node) { m.Trigger = r.trigger(path, n) },
		"assigner":  func(path string, n node) { m.Assigner = r.assigner(path, n) },
	})
	r.need("", seen, "name", "version")
	kind := ""
	for _, k := range [...]string{"aggregate", "process", "pair", "watermark", "map", "trigger", "assigner"} {
		switch {
		case !seen[k]:
		case kind != "":
			r.fail(k, "stands beside %s: a module is one of them", kind)
		default:
			kind = k
		}
	}
	if seen != nil && kind == "" {
		r.fail("", "must have a member that says what the module is: aggregate, process, pair, watermark, map, trigger or assigner")
	}
	return m
}

func (r *manifestReader) aggregate(path string, n node) *Aggregate {
	a := &Aggregate{}
	seen := r.object(path, n, map[string]func(string, node){
		"inputs":            func(path string, n node) { a.Inputs = r.columns(path, n, true) },
		"outputs":           func(path string, n node) { a.Outputs = r.columns(path, n, false) },
		"params":            func(path string, n node) { a.Params = r.params(path, n) },
		"accumulator":       func(path string, n node) { r.accumulator(path, n, a) },
		"order_insensitive": r.flag(&a.OrderInsensitive),
		"exact":             r.flag(&a.Exact),
		"apply":             r.flag(&a.Apply),
	})
	r.need(path, seen, "inputs", "outputs", "accumulator")
	if seen["outputs"] && len(a.Outputs) == 0 && len(r.errs) == 0 {
		r.fail(path+".outputs", "must have at least one entry")
	}
	if a.Apply && a.Width == 0 && len(r.errs) == 0 {
		r.fail(path+".apply", "needs accumulators of fixed size")
	}
	return a
}

func (r *manifestReader) accumulator(path string, n node, a *Aggregate) {
	var width, schema int64
	seen := r.object(path, n, map[string]func(string, node){
		"width": func(path string, n node) {
			r.number(&width, 0, MaxWidth)(path, n)
			if width%8 != 0 {
				r.fail(path, "must be a multiple of 8")
			}
		},
		"schema":   r.number(&schema, 1, math.MaxUint32),
		"upgrades": func(path string, n node) { a.Upgrades = r.upgrades(path, n, true) },
	})
	r.need(path, seen, "width", "schema")
	a.Width, a.Schema = int(width), uint32(schema)
	r.older(path+".upgrades", a.Schema, a.Upgrades)
	for i, u := range a.Upgrades {
		if (u.Width == 0) != (width == 0) {
			r.fail(fmt.Sprintf("%s.upgrades[%d].width", path, i), "is %d beside a width of %d: accumulators of fixed size and of varying size are not made of each other", u.Width, width)
		}
	}
}

// fieldName reads the name of a column or parameter, which differs from the others
// of its list.
func (r *manifestReader) fieldName(dst *string, taken map[string]bool) func(string, node) {
	return func(path string, n node) {
		before := len(r.errs)
		r.text(dst, 63)(path, n)
		switch {
		case len(r.errs) > before:
		case !isName(*dst, false):
			r.fail(path, "%q is no name: lower-case letters, digits and _, a letter first, at most 63", *dst)
		case taken[*dst]:
			r.fail(path, "%q occurs twice", *dst)
		}
		taken[*dst] = true
	}
}

func (r *manifestReader) kind(dst *Kind) func(string, node) {
	return func(path string, n node) {
		s, _ := n.scalar.(string)
		k, ok := ParseKind(s)
		switch {
		case !ok && n.scalar == s:
			r.fail(path, "is %q, it must be int64, float64, bool, string or timestamp", s)
		case !ok:
			r.fail(path, "must be int64, float64, bool, string or timestamp")
		}
		*dst = k
	}
}

func (r *manifestReader) columns(path string, n node, input bool) []Column {
	var cols []Column
	taken := map[string]bool{}
	r.array(path, n, MaxColumns, func(path string, n node) {
		var c Column
		known := map[string]func(string, node){"name": r.fieldName(&c.Name, taken), "type": r.kind(&c.Kind)}
		if input {
			known["nullable"] = r.flag(&c.Nullable)
		}
		r.need(path, r.object(path, n, known), "name", "type")
		cols = append(cols, c)
	})
	return cols
}

func (r *manifestReader) params(path string, n node) []Param {
	var params []Param
	taken := map[string]bool{}
	r.array(path, n, MaxColumns, func(path string, n node) {
		var p Param
		var def node
		seen := r.object(path, n, map[string]func(string, node){
			"name": r.fieldName(&p.Name, taken),
			"type": func(path string, n node) {
				r.kind(&p.Kind)(path, n)
				if p.Kind == Timestamp {
					r.fail(path, "is %q, a parameter must be int64, float64, bool or string", p.Kind)
				}
			},
			"required": r.flag(&p.Required),
			"default":  func(_ string, n node) { def, p.HasDefault = n, true },
		})
		r.need(path, seen, "name", "type")
		if p.HasDefault && p.Required {
			r.fail(path, "is required and has a default: one of them")
		}
		if p.HasDefault {
			r.value(path+".default", p.Kind, def, &p.Default)
		}
		params = append(params, p)
	})
	return params
}

func (r *manifestReader) value(path string, k Kind, n node, dst *Value) {
	switch k {
	case Int64:
		v, err := parseInt(n)
		if err != nil {
			r.fail(path, "must be an int64, written without fraction and exponent")
		}
		dst.Int = v
	case Float64:
		num, ok := n.scalar.(json.Number)
		v, err := strconv.ParseFloat(string(num), 64)
		if !ok || err != nil {
			r.fail(path, "must be a number in the range of float64")
		}
		dst.Float = v
	case Bool:
		r.flag(&dst.Bool)(path, n)
	case String:
		r.text(&dst.Str, MaxParamText)(path, n)
	}
}

func parseInt(n node) (int64, error) {
	num, ok := n.scalar.(json.Number)
	if !ok {
		return 0, errors.New("not a number")
	}
	return strconv.ParseInt(string(num), 10, 64)
}

func isName(s string, dash bool) bool {
	if len(s) == 0 || len(s) > 63 || s[0] < 'a' || s[0] > 'z' {
		return false
	}
	return strings.IndexFunc(s, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' || dash && c == '-')
	}) < 0
}
