package job

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"tidemark/engine/stream"
)

// sourceSpec is a source of the job file.
type sourceSpec struct {
	Source
	at    place    // its name
	path  *node    // file.path
	files []string // what the path stands for, as far as Files could tell
	emit  *node    // watermark.emit, where it is a duration
	align *node    // watermark.align
	used  bool
	// whole: the schema was read without a problem, so that a field that is not in
	// it does not exist.
	whole bool
}

// source reads
//
//	orders:
//	  file: {path: data/orders-*.jsonl, follow: false}
//	  format: json                # or {json: {max_depth: 64}, max_record: 1MiB}
//	  schema: {merchant: string, user.id: int64, odd: {type: string, path: [a.b, c]}}
//	  time: {field: ts, unit: ms}
//	  watermark: {out_of_orderness: 5s}
func (r *reader) source(e entry) *sourceSpec {
	s := &sourceSpec{at: e.value.key}
	s.ID = e.key
	if dropped(e.value) {
		s.used = true
		return s
	}
	o := r.object(e.value, "sources."+e.key, "sources.*", e.value.key)
	o.need("file", "say file: {path: data/*.jsonl}")
	r.file(s, o.child("file"))
	o.when = bounded
	if !s.Bounded() {
		o.when = followed
	}
	r.format(s, o)
	r.schema(s, o.child("schema"))
	o.need("time", "say which field holds event time and its unit: {field: ts, unit: ms}")
	if c := o.child("time"); c.n != nil {
		r.time(s, c)
	}
	r.watermark(s, o)
	o.close()
	return s
}

func (r *reader) file(s *sourceSpec, o *object) {
	s.File = &FileSource{}
	if o.n == nil {
		return
	}
	o.need("path", "say a file, a pattern such as data/*.jsonl, or \"-\" for standard input")
	path, n := scalar(o, "path", text)
	s.path = n
	if path == "-" {
		o.without("follow", "standard input ends when its writer closes it")
	} else {
		s.File.Follow, _ = scalar(o, "follow", boolean)
	}
	o.close()
	if n == nil {
		return
	}
	at := o.sub("path")
	dir := r.o.Dir
	if r.o.Host {
		dir = r.o.Inputs
		switch {
		case path == "-":
			r.report(n.at, "%s: a host has no standard input; name a file", at)
			return
		case dir == "":
			r.report(n.at, "%s: this host reads no files; its operator can allow a directory with the setting inputs", at)
			return
		case !filepath.IsLocal(path):
			r.report(n.at, "%s must be relative to the host's directory of inputs and stay inside, is %s", at, quote(n.shown))
			return
		}
	}
	s.File.Base = dir
	if path == "-" {
		s.File.Path = path
		return
	}
	s.File.Glob = strings.ContainsAny(path, "*?[")
	s.File.Path = r.abs(dir, path)
	if s.File.Glob && !filepath.IsAbs(path) {
		s.File.Path = filepath.Join(globEscape.Replace(dir), path)
	}
	r.inputs(s, at)
}

// globEscape keeps a directory's name literal inside a pattern.
var globEscape = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)

// inputs looks for the files of a source.
func (r *reader) inputs(s *sourceSpec, at string) {
	n := s.path
	if s.File.Glob {
		if _, err := filepath.Match(s.File.Path, ""); err != nil {
			r.report(n.at, "%s is not a pattern: %s; * ? and [a-z] have a meaning, \\ takes it away", at, quote(n.shown))
			return
		}
	}
	if r.o.Files == nil {
		return
	}
	if !s.File.Glob {
		info, err := r.o.Files.Stat(s.File.Path)
		switch {
		case err != nil:
			r.report(n.at, "%s: %s", at, r.missing(n, err, ""))
		case info.IsDir():
			r.report(n.at, "%s: %s is a directory; for all files in it say %s", at, quote(n.shown), quote(strings.TrimRight(n.shown, "/")+"/*"))
		default:
			s.files = []string{s.File.Path}
		}
		return
	}
	files, err := r.o.Files.Glob(s.File.Path)
	if err != nil {
		r.report(n.at, "%s: %s cannot be searched: %v", at, quote(n.shown), err)
		return
	}
	if len(files) == 0 && !s.File.Follow { // a followed pattern waits for files
		r.report(n.at, "%s: no file matches %s%s", at, quote(n.shown), r.from(n))
	}
	for _, f := range files {
		if info, err := r.o.Files.Stat(f); err == nil && info.IsDir() {
			r.report(n.at, "%s: %s matches the directory %s; make the pattern match files only", at, quote(n.shown), filepath.Base(f))
			return
		}
	}
	s.files = files
}

// missing says why a file cannot be opened, and where it was looked for.
func (r *reader) missing(n *node, err error, fix string) string {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Sprintf("there is no file %s%s%s", quote(n.shown), r.from(n), fix)
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return fmt.Sprintf("%s cannot be opened: %v", quote(n.shown), err)
}

// from says what a relative path is relative to.
func (r *reader) from(n *node) string {
	switch {
	case filepath.IsAbs(n.text):
		return ""
	case r.o.Host:
		return " in the host's directory of inputs"
	}
	return " (paths start from the directory of the job file)"
}

func (r *reader) format(s *sourceSpec, o *object) {
	o.need("format", "say json (an object a line) or csv")
	n := o.get("format")
	path := o.sub("format")
	c := r.object(nil, path, "sources.*.format", o.at)
	switch {
	case n == nil || dropped(n):
		return
	case n.kind == mappingNode:
		c.n, c.at = n, n.key
		isJSON, isCSV := n.find(JSON) != nil, n.find(CSV) != nil
		switch {
		case isJSON && isCSV:
			r.report(n.at, "%s holds both json and csv; leave one out", path)
			return
		case !isJSON && !isCSV:
			r.report(n.at, "%s must hold json or csv, such as {csv: {delimiter: \";\"}}", path)
			return
		case isJSON:
			s.Format.Kind = JSON
		default:
			s.Format.Kind = CSV
		}
		r.note(path, s.Format.Kind, n.at)
	default:
		kind, ok := read(r, n, path, choice(JSON, CSV))
		if !ok {
			return
		}
		s.Format.Kind = kind
	}
	k := c.child(s.Format.Kind)
	if s.Format.Kind == JSON {
		s.Format.MaxDepth, _ = scalar(k, "max_depth", integer(1, maxJSONDepth))
		k.without("header", "it applies to csv")
		k.without("delimiter", "it applies to csv")
	} else {
		s.Format.Header, _ = scalar(k, "header", boolean)
		s.Format.Delimiter, _ = scalar(k, "delimiter", delimiter)
		k.without("max_depth", "it applies to json")
	}
	k.close()
	s.Format.MaxRecord, _ = scalar(c, "max_record", size(1, maxRecord))
	c.close()
}

func delimiter(n *node) (byte, string) {
	switch s := n.text; {
	case len(s) != 1 || s[0] >= 0x80:
		return 0, fmt.Sprintf("must be one ASCII character (a tab is \"\\t\"), is %s", n.describe())
	case s == `"` || s == "\n" || s == "\r":
		return 0, fmt.Sprintf("cannot be %q, which has a meaning of its own in csv", s)
	}
	return n.text[0], ""
}

// csvPosition is the name of a column of a file without a header.
var csvPosition = regexp.MustCompile(`^c[1-9][0-9]{0,4}$`)

// fieldPath finds where a field lies: what the schema says, or else the parts of
// its name. wrong says what is the matter with the name.
func (s *sourceSpec) fieldPath(name string) (path []string, wrong string) {
	for i := range s.Schema {
		if s.Schema[i].Name == name {
			return s.Schema[i].Path, ""
		}
	}
	if s.Format.Kind == CSV {
		if !s.Format.Header && !csvPosition.MatchString(name) {
			return nil, fmt.Sprintf("%s is not a column: without a header they are c1, c2, …", quote(name))
		}
		return []string{name}, ""
	}
	path = strings.Split(name, ".")
	switch {
	case slices.Contains(path, ""):
		return nil, fmt.Sprintf("%s has an empty name between its dots", quote(name))
	case len(path) > maxPath:
		return nil, fmt.Sprintf("%s is nested deeper than %d levels", quote(name), maxPath)
	}
	return path, ""
}

func (r *reader) schema(s *sourceSpec, o *object) {
	s.whole = true
	if o.n == nil {
		return
	}
	if len(o.n.entries) > maxFields {
		r.report(o.at, "%s has %d fields, at most %d are read", o.path, len(o.n.entries), maxFields)
		s.whole = false
		return
	}
	kinds := choice(stream.Int64.String(), stream.Float64.String(), stream.String.String(), stream.Bool.String(), stream.Timestamp.String())
	for _, e := range o.n.entries {
		before := len(r.problems)
		f := Field{Name: e.key}
		path, wrong := (&sourceSpec{Source: Source{Format: s.Format}}).fieldPath(e.key)
		f.Path = path
		at := o.sub(e.key)
		kind := ""
		switch {
		case dropped(e.value):
			s.whole = false
			continue
		case e.value.kind == mappingNode:
			c := r.object(e.value, at, "sources.*.schema.*", e.value.key)
			c.need("type", "say int64, float64, string, bool or timestamp")
			kind, _ = scalar(c, "type", kinds)
			c.need("path", "say where the value is, as a list of names from the outside in; or write "+e.key+": and the type alone")
			if items := c.textList("path", maxPath); items != nil {
				f.Path, wrong = nil, ""
				for _, item := range items {
					f.Path = append(f.Path, item.text)
				}
				if s.Format.Kind == CSV && len(f.Path) != 1 {
					wrong = "path names one column in csv"
				}
			}
			c.close()
		default:
			kind, _ = read(r, e.value, at, kinds)
		}
		if wrong != "" {
			r.report(e.value.key, "%s: %s", o.path, wrong)
		}
		if len(r.problems) > before {
			s.whole = false
		}
		f.Kind, _ = stream.ParseKind(kind)
		s.Schema = append(s.Schema, f)
	}
}

// timeField reads the name of a field that holds a time.
func (r *reader) timeField(s *sourceSpec, o *object, key string) []string {
	name, n := scalar(o, key, text)
	if n == nil || s.Format.Kind == "" {
		return nil
	}
	path, wrong := s.fieldPath(name)
	if wrong != "" {
		r.report(n.at, "%s: %s", o.sub(key), wrong)
		return nil
	}
	for i := range s.Schema {
		f := &s.Schema[i]
		numeric := s.Time.Unit != "" && s.Time.Unit != "rfc3339" && s.Time.Unit != "layout"
		switch {
		case f.Name != name || s.Time.Unit == "":
		case f.Kind == stream.Bool, !numeric && (f.Kind == stream.Int64 || f.Kind == stream.Float64):
			r.report(n.at, "%s: %s is %s in the schema, which cannot hold a time in unit %s", o.sub(key), quote(n.shown), f.Kind, s.Time.Unit)
		}
	}
	return path
}

func (r *reader) time(s *sourceSpec, o *object) {
	t := &s.Time
	if o.only("ingestion") {
		s.Watermark.Kind = IngestionWatermark
		for _, key := range []string{"field", "unit", "layout", "zone", "arrival", "max_future", "max_jump", "plausible"} {
			o.without(key, "with ingestion: true the time of a record is that at which it is read")
		}
		o.close()
		return
	}
	o.need("unit", "say s, ms, us or ns (since 1970), rfc3339 or layout; it is never guessed")
	t.Unit, _ = scalar(o, "unit", choice("s", "ms", "us", "ns", "rfc3339", "layout"))
	o.need("field", "say which field holds event time")
	t.Path = r.timeField(s, o, "field")
	if t.Unit == "layout" {
		r.layout(t, o)
	} else if t.Unit != "" {
		o.without("layout", "it applies to unit: layout")
		o.without("zone", "it applies to unit: layout, where the layout has no offset")
	} else {
		o.get("layout")
		o.get("zone")
	}
	t.MaxFuture, _ = scalar(o, "max_future", duration(durationRule{off: true}))
	t.MaxJump, _ = scalar(o, "max_jump", duration(durationRule{off: true}))
	if n := o.n.find("max_future"); n != nil && n.text == "off" {
		o.without("arrival", "it is only compared with max_future, which is off")
	} else {
		t.Arrival = r.timeField(s, o, "arrival")
	}
	t.Plausible, _ = scalar(o, "plausible", boolean)
	o.close()
}

// layout checks a Go layout by writing and reading a date with it.
func (r *reader) layout(t *TimeSpec, o *object) {
	o.need("layout", "write the time 2006-01-02 15:04:05 the way the field looks")
	layout, n := scalar(o, "layout", text)
	t.Zone, _ = scalar(o, "zone", timeZone)
	t.Layout = layout
	if n == nil {
		return
	}
	day := time.Date(2021, time.November, 23, 13, 47, 59, 0, time.FixedZone("", 3*3600+1800))
	back, err := time.Parse(layout, day.Format(layout))
	switch {
	case err != nil || back.Year() != day.Year() || back.YearDay() != day.YearDay():
		r.report(n.at, "%s must hold year, month and day as a Go layout (the time 2006-01-02 15:04:05 the way the field looks), is %s", o.sub("layout"), quote(n.shown))
	case back.Hour() == 1:
		r.report(n.at, "%s has hours of a 12-hour clock (03) without PM; say 15 for hours of the day", o.sub("layout"))
	default:
		_, offset := back.Zone()
		switch hasOffset := offset == 3*3600+1800; {
		case hasOffset && o.n.find("zone") != nil:
			o.without("zone", "the layout reads the offset from the record")
		case !hasOffset && o.n.find("zone") == nil:
			r.report(n.at, "%s.zone is missing; the layout has no offset, so say zone: UTC or a name such as Europe/Berlin", o.path)
		}
	}
}

// timeZone takes the name of a zone, never the machine's own.
func timeZone(n *node) (string, string) {
	name, wrong := text(n)
	if wrong != "" {
		return "", wrong
	}
	if _, err := time.LoadLocation(name); err != nil || name == "Local" {
		return "", fmt.Sprintf("must be UTC or an IANA name such as Europe/Berlin, is %s", quote(n.shown))
	}
	return name, ""
}
