package engine

import (
	"slices"

	"tidemark/engine/source"
)

// A split that has gone on to another file, since the one before was rotated away or
// truncated, may not have passed on all of that: it is paused, or its receivers are busy. Those
// bytes may be nowhere but in memory: of a truncated file they are gone, and a rotated one is
// compressed or deleted some day. A checkpoint does not wait until they are passed on, which
// a paused split never does (K2), but takes them in, and a restore gives them first:
//
//	last bytes of the old file │ all of one between, if there is one │ the new file, from 0
//	      position is here                                            the reader is here
//
// They are what a split reads ahead, at most: see maxRead, and maxChunkBytes with a crew.

// behind returns what was read and not passed on of files before the one that is being read:
// the last bytes of the first, all of the others. The position is in the first then, else in
// the one that is being read. What it returns is the caller's.
func (s *split) behind() (old [][]byte) {
	var run [][]byte // of a file, up to what was looked at
	end := func() {
		old = append(old, slices.Concat(run...))
		run = run[:0]
	}
	if a := s.ahead; a != nil && (a.now != nil || len(a.flying) > 0) {
		if a.now != nil {
			for _, d := range a.now.batches[a.next:] {
				run = append(run, d.batch.Blob[:d.bytes])
			}
		}
		for i, ch := range a.flying {
			if ch.offset == 0 && (i > 0 || a.now != nil || s.bytes > 0) {
				end()
			}
			run = append(run, ch.raw)
		}
		if a.offset == 0 && !a.ended {
			end()
		}
	}
	run = append(run, s.rest)
	if s.restart {
		end()
	}
	if c, ok := s.reader.(*carried); ok {
		for _, b := range c.old {
			run = append(run, b)
			end()
		}
	}
	return old // what is left of run can be read again
}

// carried reads what a checkpoint has kept of files before one, and then that.
type carried struct {
	source.Reader
	old [][]byte
}

func (c *carried) Read(p []byte) (int, error) {
	if len(c.old) == 0 {
		return c.Reader.Read(p)
	}
	if n := copy(p, c.old[0]); n > 0 {
		c.old[0] = c.old[0][n:]
		return n, nil
	}
	c.old = c.old[1:]
	return 0, source.ErrRestart
}

// beginning is what is known of the first bytes of the file that is being read.
func (s *split) beginning() []byte {
	if c, ok := s.reader.(*carried); ok && len(c.old) > 0 {
		return nil // it has not come to that
	}
	return s.head
}
