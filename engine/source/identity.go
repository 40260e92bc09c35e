package source

import (
	"io/fs"
	"slices"

	"tidemark/internal/env"
)

// identities remembers which files a followed source has given out, so that a file
// that rotation renames into the pattern is not read a second time. A file is
// forgotten once no reader holds it and no listing shows it: only then can the
// system give its identity to another.
//
// Memory and time follow the listing, which maxFollowed bounds, and the files that
// were deleted in the last deletedQuiet.
type identities struct {
	files  []*identity
	byPath map[string]*identity // as of the last listing or opening
	splits map[string]found     // by path: what was given out
}

// identity is a file, by whatever name.
type identity struct {
	info   fs.FileInfo // as of the last listing or opening
	open   int         // readers that hold it
	listed bool        // the last listing showed it
	spent  *Trace      // it has been read to its end, and its reader has gone on; nil: it has not
}

// update takes a listing and returns the splits: files that were not there before,
// and those that were given out. there is how many of them have a file that is still
// to be found; the others are read to their end.
func (k *identities) update(listing []found) (all []found, there int) {
	k.init()
	for _, id := range k.files {
		id.listed = false
	}
	named := make(map[string]bool, len(listing))
	for _, f := range listing {
		named[f.path] = true
		id := k.byPath[f.path]
		if id == nil || !env.SameFile(id.info, f.info) { // a new name, or another file
			if id != nil && id.open > 0 && k.isSplit(f.path) && k.find(f.info) == nil {
				continue // its reader will go on to this file by itself
			}
			if id = k.find(f.info); id == nil {
				id = k.add(f.info)
				k.splits[f.path] = f
			}
			k.byPath[f.path] = id
		}
		id.listed, id.info = true, f.info
		if k.isSplit(f.path) {
			k.splits[f.path] = f // as large and as new as it is now
		}
	}
	k.forget()
	for path, f := range k.splits {
		all = append(all, f)
		if named[path] || k.byPath[path].listed {
			there++
		}
	}
	return all, there
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

// find returns the file with this identity, or nil. A file that no reader holds may
// have been deleted since it was listed, and its identity have gone to a new one:
// that is seen by its being smaller, since logs grow.
func (k *identities) find(info fs.FileInfo) *identity {
	for _, id := range k.files {
		if env.SameFile(id.info, info) && (id.open > 0 || info.Size() >= id.info.Size()) {
			return id
		}
	}
	return nil
}

// take notes that a reader holds the file at path, and returns the file.
func (k *identities) take(path string, info fs.FileInfo) *identity {
	k.init()
	id := k.find(info)
	if id == nil {
		id = k.add(info)
	}
	id.open++
	k.byPath[path] = id
	return id
}

// move notes that the split of a path goes on with a file that has another name now, at,
// before it is taken. What has the path is its successor, which its reader goes on to by
// itself, unless that has been read, and at is no split for that.
func (k *identities) move(f found, at string) {
	k.init()
	if id := k.byPath[f.path]; id != nil && id.open == 0 && id.spent == nil && !env.SameFile(id.info, f.info) {
		delete(k.byPath, f.path)
		k.files = slices.DeleteFunc(k.files, func(i *identity) bool { return i == id })
	}
	if id := k.byPath[at]; id != nil && id.open == 0 {
		delete(k.splits, at)
	}
	k.splits[f.path] = f
}

// release notes that a reader has let go of a file. It is to be called before the
// descriptor is closed: from then on another file may be taken for this one.
func (k *identities) release(id *identity) {
	id.open--
	k.forget()
}

// end notes that the split of a path has ended, and releases its file. A file that
// comes by this name is another split.
func (k *identities) end(path string, id *identity) {
	delete(k.splits, path)
	k.release(id)
}

// forget drops the files that no reader holds and that the last listing does not show.
func (k *identities) forget() {
	gone := func(id *identity) bool { return !id.listed && id.open == 0 }
	for path, id := range k.byPath {
		if gone(id) {
			delete(k.byPath, path)
			delete(k.splits, path)
		}
	}
	k.files = slices.DeleteFunc(k.files, gone)
}
