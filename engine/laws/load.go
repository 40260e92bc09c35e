package laws

import (
	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// What functions are measured on: many different values and no nulls, the same for the
// same seed. Rows, in generate.go, is what functions of records are measured on.

// filled are inputs that no null is made for.
func filled(inputs []udf.Input) []udf.Input {
	out := make([]udf.Input, len(inputs))
	for i, in := range inputs {
		out[i] = udf.Input{Name: in.Name, Kind: in.Kind}
	}
	return out
}

// FiringLoad is firings for measuring a process function.
type FiringLoad struct {
	info  udf.ProcessInfo
	items []Record
}

// Firings makes n firings of so many keys, a second apart; every list of each has so many
// records.
func Firings(info udf.ProcessInfo, seed uint64, n, keys, records int) *FiringLoad {
	d := dice(seed)
	l := &FiringLoad{info: info, items: make([]Record, n)}
	for i := range l.items {
		it := &l.items[i]
		*it = Record{Time: stream.Time(1_700_000_000_000 + 1000*i), Values: d.values(filled(info.Inputs), wide), Key: d.below(keys)}
		for _, inputs := range info.Lists {
			list := make([]Record, records)
			for k := range list {
				list[k] = Record{Time: it.Time - stream.Time(d.below(1000)), Values: d.values(filled(inputs), wide)}
			}
			it.Lists = append(it.Lists, list)
		}
	}
	return l
}

// N is how many firings there are.
func (l *FiringLoad) N() int { return len(l.items) }

// Drop takes a firing out that the function refuses.
func (l *FiringLoad) Drop(i int) { l.items = append(l.items[:i:i], l.items[i+1:]...) }

// Firings lays them out for a call. No key and no window has a state; what a call leaves is
// what the next one finds, until Forget.
func (l *FiringLoad) Firings() *udf.Firings {
	in, _, _ := firingsOf(&l.info, l.items, newStates())
	return in
}

// Forget takes all states away.
func Forget(s *udf.States) {
	clear(s.Data)
	clear(s.Put)
}

// Operations makes n operations for measuring a trigger, or fewer if nothing more happens:
// those that it is asked about while records come into windows of several keys, time moves
// on with its timers, windows take over others, if it can that, and go. No window has a
// state before.
func Operations(t udf.Trigger, seed uint64, n int) (*udf.TriggerOps, error) {
	d := dice(seed)
	s := triggerShower{t}
	inputs := t.Info().Inputs
	records := make([]Record, n)
	at := stream.Time(1_700_000_000_000)
	for i := range records {
		at += stream.Time(100 * d.below(4))
		records[i] = Record{Time: at, Values: d.values(filled(inputs), wide), Key: d.below(8)}
	}
	h, err := drive(s, records, true, false)
	if err != nil {
		return nil, err
	}
	in, _ := opsOf(inputs, h.steps[:min(n, len(h.steps))], newStates())
	return in, nil
}
