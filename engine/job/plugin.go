package job

import (
	"path/filepath"
	"regexp"
	"strings"
)

// pluginSpec is a plug-in of the job file.
type pluginSpec struct {
	Plugin
	at   place        // its name
	info FunctionInfo // set if found
	// found: the module was opened; otherwise something was reported, and what uses
	// the plug-in is not checked against it.
	found bool
	used  bool
}

var (
	digestRef  = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
	versionRef = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,62}@[!-~]{1,64}$`)
)

// plugin reads
//
//	stats: {file: ../plugins/stats.wasm, ref: stats@1.0.0}
//
// A run of the job file opens the file; a host looks up the ref, so that one job
// file may serve both.
func (r *reader) plugin(e entry) *pluginSpec {
	p := &pluginSpec{at: e.value.key}
	p.Name = e.key
	o := r.object(e.value, "plugins."+e.key, "plugins.*", e.value.key)
	if dropped(e.value) {
		return p
	}
	file, fn := scalar(o, "file", text)
	ref, rn := scalar(o, "ref", text)
	o.close()
	at := p.at
	switch {
	case rn != nil && !digestRef.MatchString(ref) && !versionRef.MatchString(ref):
		r.report(rn.at, "%s must be name@version or sha256: and 64 hex digits, is %s", o.sub("ref"), quote(rn.shown))
		return p
	case r.o.Host:
		if o.n.find("ref") == nil {
			r.report(at, "%s.ref is missing; a host knows plug-ins by name@version or sha256:…, upload the file with tidemark plugin push", o.path)
		}
		if rn == nil {
			return p
		}
		p.Ref, at = ref, rn.at
	default:
		if o.n.find("file") == nil {
			r.report(at, "%s.file is missing; say where the module is (a ref counts on a host only)", o.path)
		}
		if fn == nil {
			return p
		}
		p.File, p.Ref, at = r.abs(r.o.Dir, file), ref, fn.at
		if !r.regular(fn, o.sub("file"), p.File, "; build it with tidemark plugin build") {
			return p
		}
	}
	info, err := r.o.Resolver.Plugin(&p.Plugin)
	if err != nil {
		for problem := range strings.SplitSeq(err.Error(), "\n") {
			r.report(at, "plug-in %s cannot be used: %s", p.Name, problem)
		}
		return p
	}
	p.info, p.found, p.Schema, p.Upgrades = info, true, info.Schema, info.Upgrades
	return p
}

// abs makes a path of the job file absolute.
func (r *reader) abs(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// regular reports a file that is not there or is no file.
func (r *reader) regular(n *node, path, file, fix string) bool {
	if r.o.Files == nil {
		return true
	}
	info, err := r.o.Files.Stat(file)
	switch {
	case err != nil:
		r.report(n.at, "%s: %s", path, r.missing(n, err, fix))
	case info.IsDir():
		r.report(n.at, "%s: %s is a directory", path, quote(n.shown))
	default:
		return true
	}
	return false
}
