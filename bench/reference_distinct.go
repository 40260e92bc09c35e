package main

// distinctUsers counts the different users of sliding windows: a user is there while a pane with a
// record of his is.
type distinctUsers struct {
	numbers map[string]uint32
	panes   map[int64]map[uint32][]uint32 // users by key, both by number
}

// userCounts is the users of a key.
type userCounts struct {
	records map[uint32]int32 // by user
	panes   []paneUsers      // those in the window, the oldest first
}

type paneUsers struct {
	start int64
	users []uint32
}

func newDistinctUsers() *distinctUsers {
	return &distinctUsers{numbers: map[string]uint32{}, panes: map[int64]map[uint32][]uint32{}}
}

// take takes a record of a pane that is open.
func (d *distinctUsers) take(start int64, key uint32, user []byte) {
	n, ok := d.numbers[string(user)]
	if !ok {
		n = uint32(len(d.numbers))
		d.numbers[string(user)] = n
	}
	pane := d.panes[start]
	if pane == nil {
		pane = map[uint32][]uint32{}
		d.panes[start] = pane
	}
	pane[key] = append(pane[key], n)
}

// close gives the users of a pane to the keys.
func (d *distinctUsers) close(start int64, keys []*slidingKey) {
	for key, users := range d.panes[start] {
		c := &keys[key].users
		if c.records == nil {
			c.records = map[uint32]int32{}
		}
		for _, u := range users {
			c.records[u]++
		}
		c.panes = append(c.panes, paneUsers{start, users})
	}
	delete(d.panes, start)
}

// leave takes away the panes that begin before start.
func (c *userCounts) leave(start int64) {
	for len(c.panes) > 0 && c.panes[0].start < start {
		for _, u := range c.panes[0].users {
			if c.records[u]--; c.records[u] == 0 {
				delete(c.records, u)
			}
		}
		c.panes = c.panes[1:]
	}
}
