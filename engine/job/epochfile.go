package job

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// epochDigits is how many digits an epoch has in the name of its file, at least: so many
// that a listing in order of names is one in order of epochs, up to a million of them.
// Stored; never change.
const epochDigits = 6

// packed are the suffixes that stand behind another one: rows.jsonl.gz.
var packed = []string{".gz", ".zst", ".bz2", ".xz", ".lz4"}

// EpochFile is the file of one epoch, of a sink with this path in a job that makes one for
// each checkpoint: the number stands before the suffix, rows-000012.jsonl.
func EpochFile(path string, epoch uint64) string {
	return FileWith(path, fmt.Sprintf("%0*d", epochDigits, epoch))
}

// EpochOf reads the number of an epoch in the name of a file. A number that EpochFile would
// write otherwise is none: such a file is somebody else's.
func EpochOf(path, name string) (epoch uint64, ok bool) {
	stem, suffix := splitName(filepath.Base(path))
	digits, found := strings.CutPrefix(name, stem+"-")
	if digits, ok = strings.CutSuffix(digits, suffix); !found || !ok {
		return 0, false
	}
	epoch, err := strconv.ParseUint(digits, 10, 64)
	return epoch, err == nil && epoch > 0 && name == filepath.Base(EpochFile(path, epoch))
}

// FileWith is a path with a word behind its name, before the suffix.
func FileWith(path, word string) string {
	stem, suffix := splitName(filepath.Base(path))
	return filepath.Join(filepath.Dir(path), stem+"-"+word+suffix)
}

// splitName parts a file's name before its suffix. What a name begins with is no suffix.
func splitName(name string) (stem, suffix string) {
	stem = name
	if slices.Contains(packed, filepath.Ext(stem)) {
		stem = stem[:len(stem)-len(filepath.Ext(stem))]
	}
	stem = stem[:len(stem)-len(filepath.Ext(stem))]
	if stem == "" { // .rows: a hidden file without a suffix
		return name, ""
	}
	return stem, name[len(stem):]
}

// lintEpochs: what is written for each checkpoint is read by no source of the job, which
// would have no end. Only jobs over followed inputs write so.
func (r *reader) lintEpochs(s *sinkSpec, at place, path string) {
	follows := slices.ContainsFunc(r.sources, func(src *sourceSpec) bool { return src.File != nil && src.File.Follow })
	if !follows || r.g.Settings.Checkpoint == nil {
		return
	}
	name := EpochFile(s.File, 1)
	for _, src := range r.sources {
		if src.File == nil || !src.File.Glob {
			continue
		}
		if match, err := filepath.Match(src.File.Path, name); err == nil && match {
			r.report(at, "%s: source %s would read the file that is written for each checkpoint, such as %s; name another file", path, src.ID, filepath.Base(name))
		}
	}
}
