package engine

// sinkBarrier tells which blocks belong to the epoch that is open, of a sink that has several
// senders: what comes from one behind its barrier is kept back until the barriers of all
// others have come. Nobody waits for that: in an ordered replay the others may need the
// sender to go on. It decides, and does nothing.
type sinkBarrier struct {
	seen    []uint64 // by sender: its last barrier
	ended   []bool
	epoch   uint64 // the last barrier that had come from all
	expects uint64 // the checkpoint that is being taken, which senders that have ended know nothing of
	held    []block
	bytes   int // of held
	now     []block
}

// maxHeldBytes bounds what is kept back. With more the rows go into the epoch that is open:
// then that has rows from behind the cut, and its checkpoint fails.
const maxHeldBytes = 64 << 20

// join adds a sender and returns its number. All join before the first block.
func (s *sinkBarrier) join() int {
	s.seen, s.ended = append(s.seen, 0), append(s.ended, false)
	return len(s.seen) - 1
}

// pass takes a block and returns what is to be done now, in order: blocks to be written, and
// a barrier where an epoch ends. The list is good until the next call.
func (s *sinkBarrier) pass(b block) []block {
	s.now = s.now[:0]
	for todo := []block{b}; len(todo) > 0; {
		b, todo = todo[0], todo[1:]
		switch {
		case b.expects > 0:
			s.expects = b.expects
		case s.ahead(b.from):
			s.held = append(s.held, b)
			s.bytes += len(b.lines)
		case b.end:
			s.ended[b.from] = true
		case b.barrier > 0:
			s.seen[b.from] = b.barrier
		default:
			s.now = append(s.now, b)
			continue
		}
		id, whole := s.complete()
		switch {
		case whole:
			s.now = append(s.now, block{barrier: id})
		case id > 0:
		case s.bytes > maxHeldBytes:
			id = s.expects
			s.now = append(s.now, block{barrier: id, given: true})
		default:
			continue
		}
		s.epoch = id
		todo = append(s.held, todo...)
		s.held, s.bytes = nil, 0
	}
	return s.now
}

// holds reports whether a block must go through pass.
func (s *sinkBarrier) holds() bool { return len(s.held) > 0 || s.expects > s.epoch }

// ahead reports whether a sender has sent a barrier that others have not.
func (s *sinkBarrier) ahead(sender int) bool { return s.seen[sender] > s.epoch }

// complete returns the barrier at which an epoch ends, 0 for none yet: that of all senders
// that have not ended. Not whole: of some only, while the others stand at a later one, since
// they were never asked for that checkpoint, which has been given up. Those go on to the
// later one then.
func (s *sinkBarrier) complete() (id uint64, whole bool) {
	low, high := ^uint64(0), uint64(0)
	for i, n := range s.seen {
		switch {
		case n > s.epoch:
			low, high = min(low, n), max(high, n)
		case !s.ended[i]:
			return 0, false
		}
	}
	switch {
	case high > 0:
		return low, low == high
	case s.expects > s.epoch:
		return s.expects, true
	}
	return 0, false
}
