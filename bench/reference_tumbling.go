package main

import "io"

// windowWriter writes what there is to say of a window that has ended.
type windowWriter func(rows rowWriter, start, end int64, cells map[string]*cell) error

// tumbling is windows of size ms, end to end, each a Go map by key. With writeKeys it is R.
func tumbling(size int64, write windowWriter) reference {
	return func(in io.Reader, out io.Writer) error {
		rows := newRowWriter(out)
		open := map[int64]map[string]*cell{} // by start; a handful
		var highest, closed int64            // closed: the end of the last windows written
		err := eachEvent(in, func(e *event) error {
			start := e.time - e.time%size
			cells := open[start]
			if cells == nil {
				cells = map[string]*cell{}
				open[start] = cells
			}
			c := cells[string(e.key)]
			if c == nil {
				c = &cell{}
				cells[string(e.key)] = c
			}
			c.add(e.amount)
			if e.time <= highest {
				return nil
			}
			highest = e.time
			if at := highest - bound; at-at%size > closed {
				closed = at - at%size
				for start, cells := range open {
					if start+size <= closed {
						if err := write(rows, start, start+size, cells); err != nil {
							return err
						}
						delete(open, start)
					}
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		for start, cells := range open {
			if err := write(rows, start, start+size, cells); err != nil {
				return err
			}
		}
		return rows.out.Flush()
	}
}

// writeKeys writes a row for each key.
func writeKeys(rows rowWriter, start, end int64, cells map[string]*cell) error {
	for key, c := range cells {
		if err := rows.write(start, end, key, c); err != nil {
			return err
		}
	}
	return nil
}
