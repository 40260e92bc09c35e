package source

import (
	"io/fs"
	"os"
	"slices"
)

// identities remembers which files a followed source has given out, so that a file
// that rotation renames into the pattern is not read a second time. A file is
// forgotten once no reader holds it and no listing shows it: only then can the
// system give its identity to another.
//
// Memory and time follow the listing, which maxFollowed bounds.
type identities struct {
	files  []*identity
	byPath map[string]*identity // as of the last listing or opening
	splits map[string]found     // by path: what was given out
}

// identity is a file, by whatever name.
type identity struct {
	info   fs.FileInfo
	open   int  // readers that hold it
	listed bool // the last listing showed it
}

// update takes a listing and returns the splits: files that were not there before,
// and those that were given out.
func (k *identities) update(listing []found) []found {
	k.init()
	for _, id := range k.files {
		id.listed = false
	}
	for _, f := range listing {
		id := k.byPath[f.path]
		if id == nil || !os.SameFile(id.info, f.info) { // a new name, or another file
			if id != nil && id.open > 0 && k.isSplit(f.path) && k.find(f.info) == nil {
				continue // its reader will go on to this file by itself
			}
			if id = k.find(f.info); id == nil {
				id = k.add(f.info)
				k.splits[f.path] = f
			}
			k.byPath[f.path] = id
		}
		id.listed = true
		if k.isSplit(f.path) {
			k.splits[f.path] = f // as large and as new as it is now
		}
	}
	gone := func(id *identity) bool { return !id.listed && id.open == 0 }
	for path, id := range k.byPath {
		if gone(id) {
			delete(k.byPath, path)
			delete(k.splits, path)
		}
	}
	k.files = slices.DeleteFunc(k.files, gone)
	splits := make([]found, 0, len(k.splits))
	for _, f := range k.splits {
		splits = append(splits, f)
	}
	return splits
}

func (k *identities) init() {
	if k.byPath == nil {
		k.byPath, k.splits = map[string]*identity{}, map[string]found{}
	}
}

func (k *identities) isSplit(path string) bool {
	_, ok := k.splits[path]
	return ok
}

func (k *identities) add(info fs.FileInfo) *identity {
	id := &identity{info: info}
	k.files = append(k.files, id)
	return id
}

// find returns the file with this identity, or nil.
func (k *identities) find(info fs.FileInfo) *identity {
	for _, id := range k.files {
		if os.SameFile(id.info, info) {
			return id
		}
	}
	return nil
}

// take notes that a reader holds the file at path.
func (k *identities) take(path string, info fs.FileInfo) {
	k.init()
	id := k.find(info)
	if id == nil {
		id = k.add(info)
	}
	id.open++
	k.byPath[path] = id
}

// release notes that a reader has let go of a file.
func (k *identities) release(info fs.FileInfo) {
	if id := k.find(info); id != nil {
		id.open--
	}
}
