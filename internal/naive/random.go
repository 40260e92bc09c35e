package naive

// A random is a small generator of numbers (splitmix64): the same seed gives the same
// scenario on every machine and under every Go release.
type random struct{ state uint64 }

func (r *random) next() uint64 {
	r.state += 0x9e3779b97f4a7c15
	z := r.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// below returns a number in [0, n).
func (r *random) below(n int) int {
	return int(r.next() % uint64(n))
}

// between returns a number in [low, high].
func (r *random) between(low, high int64) int64 { return low + int64(r.below(int(high-low)+1)) }

// chance is true in percent of all calls.
func (r *random) chance(percent int) bool { return r.below(100) < percent }

// pick returns one of items.
func pick[T any](r *random, items ...T) T { return items[r.below(len(items))] }

// A weighted is a choice that is made weight times as often as one of weight 1.
type weighted[T any] struct {
	weight int
	item   T
}

func pickWeighted[T any](r *random, items []weighted[T]) T {
	total := 0
	for _, i := range items {
		total += i.weight
	}
	n := r.below(total)
	for _, i := range items {
		if n -= i.weight; n < 0 {
			return i.item
		}
	}
	panic("BUG: weights do not add up")
}
