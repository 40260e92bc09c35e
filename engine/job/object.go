package job

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// object reads one mapping of the job file. The code that reads it is its schema:
// each key that is asked for is known, and close reports the others. A key that is
// absent takes its default from the table, if it has one.
type object struct {
	r       *reader
	n       *node  // nil: absent, every key takes its default
	path    string // sources.orders.watermark
	pattern string // sources.*.watermark, the key of the table of defaults
	at      place  // where to report what is missing
	when    string // selects among defaults that depend on the input
	known   []string
}

// object begins to read a mapping; anything else is reported and read as if it were
// absent.
func (r *reader) object(n *node, path, pattern string, at place) *object {
	o := &object{r: r, path: path, pattern: pattern, at: at}
	switch {
	case n == nil || n.tag == tagDropped:
	case n.kind == mappingNode:
		o.n = n
	default:
		r.report(n.at, "%s must be a mapping of keys, is %s", path, n.describe())
	}
	return o
}

// child begins to read the mapping under a key, which may be absent.
func (o *object) child(key string) *object {
	n := o.get(key)
	at := o.at
	if n != nil {
		at = n.key
	}
	c := o.r.object(n, o.sub(key), join(o.pattern, key), at)
	c.when = o.when
	return c
}

func (o *object) sub(key string) string { return join(o.path, key) }

// join extends a dotted path.
func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// get returns the value of a key, or nil, and makes the key known.
func (o *object) get(key string) *node {
	if !slices.Contains(o.known, key) {
		o.known = append(o.known, key)
	}
	return o.n.find(key)
}

// dropped reports whether a value was reported while the file was read.
func dropped(n *node) bool { return n != nil && n.tag == tagDropped }

// need reports a key that is missing and says what it is for.
func (o *object) need(key, fix string) {
	if o.n.find(key) == nil {
		o.r.report(o.at, "%s is missing; %s", o.sub(key), fix)
	}
}

// without makes a key known and reports it if it is there, because it would have
// no effect.
func (o *object) without(key, why string) {
	if n := o.get(key); n != nil {
		o.r.report(n.key, "%s has no effect: %s", o.sub(key), why)
	}
}

// one finds which of some keys that exclude each other is there. It reports several, and
// none unless fix is empty, which says what to do; then it returns "".
func (o *object) one(fix string, keys ...string) string {
	found := ""
	for _, key := range keys {
		n := o.get(key)
		switch {
		case n == nil:
		case found != "":
			o.r.report(n.key, "%s has both %s and %s; leave one out", o.path, found, key)
			for _, k := range keys { // neither is read
				o.get(k)
			}
			return ""
		default:
			found = key
		}
	}
	if found == "" && fix != "" {
		o.r.report(o.at, "%s %s", o.path, fix)
	}
	return found
}

// only reads a setting that is a switch without an off: name: true.
func (o *object) only(key string) bool {
	n := o.get(key)
	if n == nil {
		return false
	}
	on, ok := read(o.r, n, o.sub(key), boolean)
	if ok && !on {
		o.r.report(n.at, "%s can only be true; leave it out otherwise", o.sub(key))
	}
	return true
}

// short reads a setting that may stand for the mapping that it is the first of:
// tumbling: 10s for tumbling: {size: 10s}. It returns that mapping for its other keys.
func short[T any](o *object, key, first, fix string, parse func(*node) (T, string)) (T, *node, *object) {
	if n := o.n.find(key); n != nil && n.kind != mappingNode {
		v, vn := scalar(o, key, parse)
		c := o.r.object(nil, o.sub(key), join(o.pattern, key), n.key)
		c.when = o.when
		return v, vn, c
	}
	c := o.child(key)
	if c.n != nil {
		c.need(first, fix)
	}
	v, vn := scalar(c, first, parse)
	return v, vn, c
}

// close reports the keys that nothing asked for.
func (o *object) close() {
	if o.n == nil {
		return
	}
	for _, e := range o.n.entries {
		if !slices.Contains(o.known, e.key) {
			where := ""
			if o.path != "" {
				where = " in " + o.path
			}
			o.r.report(e.value.key, "unknown key %s%s%s", quote(e.key), where, hint(e.key, o.known))
		}
	}
}

// names returns the entries of a mapping whose keys are the job's own names, at
// most limit of them, and reports names that are not allowed.
func (o *object) names(what string, limit int) []entry {
	if o.n == nil {
		return nil
	}
	entries := o.n.entries
	if len(entries) > limit {
		o.r.report(entries[limit].value.key, "%s holds %d %ss, at most %d are taken", o.path, len(entries), what, limit)
		entries = entries[:limit]
	}
	for _, e := range entries {
		o.r.checkName(e.value.key, what, e.key)
	}
	return entries
}

// maxName keeps names usable as file names with an ending.
const maxName = 64

func (r *reader) checkName(at place, what, name string) {
	fix := ""
	switch {
	case name == "":
		fix = "is empty"
	case len(name) > maxName:
		fix = fmt.Sprintf("has more than %d letters", maxName)
	case strings.Contains(name, "."):
		fix = fmt.Sprintf("holds a dot, which separates a name from its outputs; say %s", strings.ReplaceAll(name, ".", "_"))
	case !isName(name):
		fix = "must be letters, digits, _ and -, and begin with a letter"
	default:
		return
	}
	r.report(at, "the name of a %s %s: %s", what, fix, quote(name))
}

func isName(s string) bool {
	for i, c := range []byte(s) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || !(c >= '0' && c <= '9' || c == '_' || c == '-')) {
			return false
		}
	}
	return s != ""
}

// note lists a setting with its origin.
func (r *reader) note(path string, shown string, at place) {
	origin := "default"
	switch {
	case at.set != "":
		origin = "--set"
	case !at.isDefault():
		origin = fmt.Sprintf("%s:%d", r.o.Name, at.line)
	}
	if strings.ContainsFunc(shown, func(c rune) bool { return c < ' ' }) {
		shown = strconv.Quote(shown)
	}
	r.effective = append(r.effective, Setting{path, shown, origin})
}

// scalar reads the value of a key with one of the parsers below. It returns nil for
// a key that is absent and has no default, and for a value that it reported.
func scalar[T any](o *object, key string, parse func(*node) (T, string)) (T, *node) {
	var zero T
	n := o.get(key)
	if n == nil {
		text, ok := defaultOf(join(o.pattern, key), o.when)
		if !ok {
			return zero, nil
		}
		y := yaml.Node{Kind: yaml.ScalarNode, Value: text}
		n = &node{tag: y.ShortTag(), text: text, shown: text}
	}
	v, ok := read(o.r, n, o.sub(key), parse)
	if !ok {
		return zero, nil
	}
	return v, n
}

// read applies a parser to a value, and reports or lists it. Parsers say "is …" with
// n.shown, never with n.text, which may hold a secret.
func read[T any](r *reader, n *node, path string, parse func(*node) (T, string)) (T, bool) {
	var zero T
	switch {
	case dropped(n):
		return zero, false
	case n.kind != scalarNode:
		r.report(n.at, "%s must be a single value, is %s", path, n.describe())
		return zero, false
	}
	v, wrong := parse(n)
	if wrong != "" {
		r.report(n.at, "%s %s", path, wrong)
		return zero, false
	}
	r.note(path, n.shown, n.at)
	return v, true
}

// text takes any text but empty text.
func text(n *node) (string, string) {
	switch {
	case n.tag == "!!null" && !n.filled:
		return "", "is empty"
	case n.text == "":
		return "", "is empty text"
	case n.tag != "!!str" && n.tag != "!!timestamp" && !n.filled:
		return "", fmt.Sprintf("must be text, is %s; write %q", quote(n.shown), n.text)
	case strings.ContainsRune(n.text, 0):
		return "", "holds a zero byte"
	}
	return n.text, ""
}

func choice(options ...string) func(*node) (string, string) {
	return func(n *node) (string, string) {
		s, wrong := text(n)
		switch {
		case wrong != "" && n.text == "":
			return "", wrong + "; say " + either(options)
		case !slices.Contains(options, n.text):
			fix := ""
			if best := closest(n.text, options); best != "" && !n.filled {
				fix = fmt.Sprintf("; did you mean %s?", best)
			}
			return "", fmt.Sprintf("must be %s, is %s%s", either(options), quote(n.shown), fix)
		}
		return s, wrong
	}
}

// either joins options as "a, b or c".
func either(options []string) string {
	if len(options) == 1 {
		return options[0]
	}
	return strings.Join(options[:len(options)-1], ", ") + " or " + options[len(options)-1]
}

func integer(lo, hi int64) func(*node) (int, string) {
	return func(n *node) (int, string) {
		v, err := strconv.ParseInt(n.text, 10, 64)
		switch {
		case n.tag == "!!str" && !n.filled && err == nil:
			return 0, fmt.Sprintf("must be a number, is text; leave out the quotes around %s", n.text)
		case err != nil:
			return 0, fmt.Sprintf("must be a whole number, is %s", n.describe())
		case v < lo || v > hi:
			return 0, fmt.Sprintf("must be between %d and %d, is %s", lo, hi, quote(n.shown))
		}
		return int(v), ""
	}
}

// positive takes whole numbers from 1 on.
func positive(most int64) func(*node) (int, string) {
	return func(n *node) (int, string) {
		v, wrong := integer(math.MinInt64, math.MaxInt64)(n)
		switch {
		case wrong != "":
		case v <= 0:
			wrong = fmt.Sprintf("must be above 0, is %s", quote(n.shown))
		case int64(v) > most:
			wrong = fmt.Sprintf("must be at most %d, is %s", most, quote(n.shown))
		}
		return v, wrong
	}
}

func boolean(n *node) (bool, string) {
	switch {
	case n.text == "true" && (n.tag == "!!bool" || n.filled):
		return true, ""
	case n.text == "false" && (n.tag == "!!bool" || n.filled):
		return false, ""
	}
	return false, fmt.Sprintf("must be true or false, is %s", n.describe())
}

// share takes a part of a whole, as 0.01 or 1%.
func share(n *node) (float64, string) {
	digits, percent := strings.CutSuffix(n.text, "%")
	v, err := strconv.ParseFloat(digits, 64)
	if percent {
		v /= 100
	}
	if err != nil || math.IsNaN(v) || v < 0 || v > 1 {
		return 0, fmt.Sprintf("must be between 0 and 1, or 0%% and 100%%, is %s", n.describe())
	}
	return v, ""
}

func size(lo, hi int64) func(*node) (int, string) {
	return func(n *node) (int, string) {
		v, err := parseSize(n.text)
		switch {
		case n.text == "":
			return 0, "is empty; say a size such as 1MiB"
		case err == errNoUnit:
			return 0, fmt.Sprintf("must have a unit, is %s; say %[1]sB, %[1]sKiB or %[1]sMiB", quote(n.shown))
		case err != nil:
			return 0, fmt.Sprintf("must be a size such as 64MiB, 512KiB or 100B, is %s", quote(n.shown))
		case v < lo || v > hi:
			return 0, fmt.Sprintf("must be between %s and %s, is %s", formatSize(lo), formatSize(hi), quote(n.shown))
		}
		return int(v), ""
	}
}

// Rules for durations; event time counts milliseconds, so all durations do.
type durationRule struct {
	zero     bool          // 0s is allowed
	negative bool          // values below 0 are
	off      bool          // the word off is, for 0
	most     time.Duration // 0: no bound but that of the type
}

func duration(rule durationRule) func(*node) (time.Duration, string) {
	return func(n *node) (time.Duration, string) {
		if rule.off && (n.text == "off") {
			return 0, ""
		}
		if n.text == "" {
			return 0, "is empty; say a duration such as 10s"
		}
		d, err := ParseDuration(n.text)
		orOff := ""
		if rule.off {
			orOff = ", or off"
		}
		switch {
		case err == errNoUnit && n.filled:
			return 0, fmt.Sprintf("must have a unit, is %s", n.shown)
		case err == errNoUnit:
			return 0, fmt.Sprintf("must have a unit, is %s; say %[1]ss or %[1]sms%s", n.text, orOff)
		case err != nil:
			return 0, fmt.Sprintf("must be a duration such as 10s, 5m, 1h30m, 200ms or 2d%s (at most 292 years), is %s", orOff, quote(n.shown))
		case d == 0 && !rule.zero && rule.off:
			return 0, fmt.Sprintf("must be above 0, is %s; say off to do without", quote(n.shown))
		case d <= 0 && !rule.zero && !rule.negative:
			return 0, fmt.Sprintf("must be above 0, is %s", quote(n.shown))
		case d < 0 && !rule.negative:
			return 0, fmt.Sprintf("must not be below 0, is %s", quote(n.shown))
		case rule.most > 0 && d > rule.most:
			return 0, fmt.Sprintf("must be at most %s, is %s", FormatDuration(rule.most), quote(n.shown))
		case d%time.Millisecond != 0:
			return 0, fmt.Sprintf("must be whole milliseconds, is %s", quote(n.shown))
		}
		return d, ""
	}
}

// textList reads a list of text, at most limit long, without repetitions. It
// returns the entries in order with their places.
func (o *object) textList(key string, limit int) []*node {
	n := o.get(key)
	if n == nil || dropped(n) {
		return nil
	}
	path := o.sub(key)
	switch {
	case n.kind == scalarNode && n.text != "":
		o.r.report(n.at, "%s must be a list; write [%s]", path, n.shown)
		return nil
	case n.kind != sequenceNode:
		o.r.report(n.at, "%s must be a list, is %s", path, n.describe())
		return nil
	case len(n.items) > limit:
		o.r.report(n.items[limit].at, "%s has %d entries, at most %d are taken", path, len(n.items), limit)
		return nil
	}
	var out []*node
	var shown []string
	for _, item := range n.items {
		if dropped(item) {
			continue
		}
		if item.kind != scalarNode {
			o.r.report(item.at, "%s holds names, not %s", path, item.describe())
			continue
		}
		s, wrong := text(item)
		switch {
		case wrong != "":
			o.r.report(item.at, "an entry of %s %s", path, wrong)
		case slices.ContainsFunc(out, func(n *node) bool { return n.text == s }):
			o.r.report(item.at, "%s names %s twice", path, quote(item.shown))
		default:
			out = append(out, item)
			shown = append(shown, item.shown)
		}
	}
	o.r.note(path, "["+strings.Join(shown, ", ")+"]", n.at)
	return out
}
