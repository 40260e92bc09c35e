package sink

import (
	"encoding/json"
	"path/filepath"

	"tidemark/internal/fault"
)

// pending is what a file sink needs to commit an epoch. Stored as JSON in checkpoints;
// a change of its meaning is a new version.
type pending struct {
	Version int    `json:"version"`
	Kind    string `json:"kind"`           // oneFile or manyFiles
	File    string `json:"file"`           // the sink's path without the directories, which may be moved
	Epoch   uint64 `json:"epoch"`          //
	Last    bool   `json:"last,omitempty"` // no row follows
	Bytes   int64  `json:"bytes"`          // oneFile: its length
	Tail    uint32 `json:"tail,omitempty"` // oneFile: CRC-32C of its last tailBytes, or of all if it is shorter
	Parts   []part `json:"parts,omitempty"`
}

// part is the rows of one epoch in a file of their own.
type part struct {
	Epoch uint64 `json:"epoch"`
	Bytes int64  `json:"bytes"` // length of the file, above 0
}

const pendingVersion = 1

const (
	oneFile   = "file"
	manyFiles = "file_per_epoch"
)

func (p pending) encode() []byte {
	p.Version = pendingVersion
	b, err := json.Marshal(p)
	if err != nil {
		panic("BUG: " + err.Error()) // numbers and text
	}
	return b
}

// decodePending reads what a sink of this kind and path has left behind.
func decodePending(stored []byte, kind, path string) (pending, error) {
	var p pending
	if err := json.Unmarshal(stored, &p); err != nil {
		return p, fault.Corruptf("what the checkpoint says of %s cannot be read: %w", path, err)
	}
	switch name := filepath.Base(path); {
	case p.Version != pendingVersion:
		return p, fault.Userf("what the checkpoint says of %s has version %d, and this program knows %d: use the program that wrote it, or a newer one", path, p.Version, pendingVersion)
	case !p.sound():
		return p, fault.Corruptf("what the checkpoint says of %s cannot be: %s", path, stored)
	case p.File != name:
		return p, fault.Userf("the checkpoint was taken when the sink wrote %s, not %s: leave the name as it was, or give the sink another one in the job file, so that it starts anew", p.File, name)
	case p.Kind != kind:
		return p, fault.Userf("the checkpoint was taken when the sink wrote %s, and now it is to write %s: give the sink of %s another name in the job file, so that it starts anew", inWords[p.Kind], inWords[kind], path)
	}
	return p, nil
}

// sound reports whether a sink can have written it.
func (p pending) sound() bool {
	before := uint64(0)
	for _, d := range p.Parts {
		if d.Bytes <= 0 || d.Epoch <= before {
			return false
		}
		before = d.Epoch
	}
	return inWords[p.Kind] != "" && p.Bytes >= 0 && before <= p.Epoch
}

var inWords = map[string]string{oneFile: "one file, complete at the end", manyFiles: "one file for each checkpoint"}
