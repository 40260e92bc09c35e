package job

import (
	"path/filepath"
	"strings"
)

// sinkSpec is a sink of the job file, or a default one.
type sinkSpec struct {
	Sink
	at   place // its name; of a default sink, the operator's
	from *node
	path *node // file.path
}

// sink reads
//
//	results: {from: per_merchant, file: {path: out/results.jsonl}, only_final: true}
//	late: {from: per_merchant.late, stdout: {}}
func (r *reader) sink(e entry) *sinkSpec {
	s := &sinkSpec{at: e.value.key}
	s.ID, s.Format = e.key, JSON
	if dropped(e.value) {
		return s
	}
	o := r.object(e.value, "sinks."+e.key, "sinks.*", e.value.key)
	if o.n == nil {
		return s
	}
	o.need("from", "say which step's results it writes, or step.late, step.failed, source.bad")
	if from, n := scalar(o, "from", text); n != nil {
		s.from = n
		s.From.Operator, s.From.Name, _ = strings.Cut(from, ".")
	}
	s.OnlyLast, _ = scalar(o, "only_final", boolean)
	s.TimeFormat, _ = scalar(o, "time_format", choice(timeRFC3339, TimeMillis))
	file, stdout := o.child("file"), o.child("stdout")
	hasFile, hasStdout := o.n.find("file") != nil, o.n.find("stdout") != nil
	switch {
	case hasFile && hasStdout:
		r.report(stdout.at, "%s has both file and stdout; leave one out, or write two sinks", o.path)
	case !hasFile && !hasStdout:
		r.report(o.at, "%s.file is missing; say file: {path: out/results.jsonl} or stdout: {}", o.path)
	case hasStdout:
		if r.o.Host {
			r.report(stdout.at, "%s: a host has no standard output; say file: {path: results.jsonl}", stdout.path)
		}
		if n := o.n.find("stdout"); n.kind == mappingNode {
			r.note(stdout.path, "{}", n.at)
		}
		s.Stdout = true
		stdout.close()
	case file.n != nil:
		file.need("path", "say where the file is to be, such as out/results.jsonl")
		if path, n := scalar(file, "path", text); n != nil {
			s.path = n
			r.target(s, file.sub("path"), path)
		}
		file.close()
	}
	o.close()
	return s
}

// target checks where a file sink writes.
func (r *reader) target(s *sinkSpec, at, path string) {
	n := s.path
	switch {
	case path == "-":
		r.report(n.at, "%s: for standard output say stdout: {} in place of file", at)
		return
	case strings.HasSuffix(path, "/") || path == "." || path == ".." || strings.HasSuffix(path, "/."):
		r.report(n.at, "%s is a directory: %s; name a file in it", at, quote(n.shown))
		return
	case r.o.Host && !filepath.IsLocal(path):
		r.report(n.at, "%s must be relative and stay in the job's own directory, is %s", at, quote(n.shown))
		return
	}
	file := r.abs(r.o.Dir, path)
	if wrong := r.unwritable(file); wrong != "" {
		r.report(n.at, "%s cannot be written: %s", at, wrong)
		return
	}
	s.File = file
}

// unwritable says why no file can be made at path, as far as looking can tell.
func (r *reader) unwritable(path string) string {
	if r.o.Files == nil {
		return ""
	}
	if info, err := r.o.Files.Stat(path); err == nil {
		if info.IsDir() {
			return quote(filepath.Base(path)) + " is a directory; name a file in it"
		}
		return ""
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		info, err := r.o.Files.Stat(dir)
		switch {
		case err == nil && !info.IsDir():
			return quote(filepath.Base(dir)) + " is a file, so nothing can lie below it"
		case err == nil, dir == filepath.Dir(dir):
			return ""
		}
	}
}
