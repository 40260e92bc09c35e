package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// steps of a sink's senders, as text: "a" is a row of sender 0, "B2" the barrier of
// checkpoint 2 of sender 1, "a." its end, "?2" the request of checkpoint 2. What comes out:
// rows, "|2" where the epoch of checkpoint 2 ends, "!2" where it is given up.
func passed(s *sinkBarrier, steps string) string {
	var out []string
	for _, step := range strings.Fields(steps) {
		var n uint64
		b := block{from: int(strings.ToLower(step)[0] - 'a')}
		switch {
		case step[0] == '?':
			b = block{}
			fmt.Sscan(step[1:], &n)
			b.expects = n
		case step[0] < 'a':
			fmt.Sscan(step[1:], &n)
			b.barrier = n
		case strings.HasSuffix(step, "."):
			b.end = true
		default:
			b.lines = []byte(step)
		}
		for _, b := range s.pass(b) {
			switch {
			case b.given:
				out = append(out, fmt.Sprint("!", b.barrier))
			case b.barrier > 0:
				out = append(out, fmt.Sprint("|", b.barrier))
			default:
				out = append(out, string(b.lines))
			}
		}
	}
	return strings.Join(out, " ")
}

func TestASinksEpochEndsBehindAllBarriers(t *testing.T) {
	for _, c := range []struct{ name, steps, want string }{
		{"one behind its barrier waits", "?1 a A1 a b B1 b", "a b |1 a b"},
		{"one that has ended has no barrier", "?1 a. b B1 b", "b |1 b"},
		{"one that ends while others wait", "?1 A1 a b b.", "b |1 a"},
		{"one that ends behind its barrier", "?1 A1 a a. b B1 b ?2 b B2 b", "b |1 a b b |2 b"},
		{"all have ended before", "a. b b. ?1", "b |1"},
		{"all have ended before two", "a. b. ?1 ?2", "|1 |2"},
		{"two barriers of one", "?1 A1 a ?2 A2 aa b B1 bb B2 bbb", "b |1 a bb |2 aa bbb"},
		{"given up, and its barriers come during the next", "?1 A1 a ?2 b B1 bb A2 aa B2", "b |1 a bb |2 aa"},
		{"given up before one was asked", "?1 A1 a ?2 b B2 bb A2 aa", "b a |2 bb aa"},
		{"given up before one was asked, which comes later", "?1 A1 a A2 aa ?2 b B2 bb", "b a |2 aa bb"},
		{"one ends in place of the later barrier", "?1 A1 a ?2 a. b B2 bb", "b a |2 bb"},
	} {
		var s sinkBarrier
		s.join()
		s.join()
		if got := passed(&s, c.steps); got != c.want {
			t.Errorf("%s: %s gives %s, want %s", c.name, c.steps, got, c.want)
		}
	}
}

// With more kept back than there is room for, the checkpoint fails and nothing else: no row
// is lost, and the next one is whole.
func TestASinkWithoutRoomGivesTheCheckpointUp(t *testing.T) {
	var s sinkBarrier
	s.join()
	s.join()
	if got := passed(&s, "?1 a A1"); got != "a" {
		t.Fatal(got)
	}
	big, n, gave := make([]byte, 1<<20), 0, 0
	for range 3 * maxHeldBytes / len(big) {
		for _, b := range s.pass(block{from: 0, lines: big}) {
			if b.given {
				gave++
			} else {
				n++
			}
		}
		if s.bytes > maxHeldBytes {
			t.Fatalf("%d bytes are kept back", s.bytes)
		}
	}
	if n != 3*maxHeldBytes/len(big) || gave != 1 {
		t.Errorf("%d rows came, %d checkpoints were given up", n, gave)
	}
	if got := passed(&s, "b B1 bb ?2 A2 a b B2"); got != "b bb b |2 a" {
		t.Errorf("then %s", got)
	}
}

// In any order of arrival an epoch has what its senders have sent before their barriers, and
// nothing else; each row comes once.
func TestEpochsOfASinkByChance(t *testing.T) {
	const last = 5
	epochs := 0
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 3))
		var s sinkBarrier
		senders := 1 + r.IntN(3)
		at, ended, skipped := make([]uint64, senders), make([]bool, senders), map[uint64]bool{}
		for range senders {
			s.join()
		}
		asked, n := uint64(0), 0
		want, got, open := map[uint64][]int{}, map[uint64][]int{}, []int(nil)
		var all []int
		take := func(b block) {
			for _, b := range s.pass(b) {
				if b.barrier > 0 {
					got[b.barrier] = slices.Clone(open)
				} else {
					open = append(open, b.rows)
				}
			}
		}
		for n < 60 {
			i := r.IntN(senders)
			switch {
			case r.IntN(10) == 0 && asked < last:
				asked++
				take(block{expects: asked})
			case ended[i]:
				n++
			case r.IntN(6) == 0 && at[i] < asked:
				at[i]++
				if at[i] < asked && r.IntN(5) == 0 {
					skipped[at[i]] = true
					at[i]++
				}
				take(block{from: i, barrier: at[i]})
			case r.IntN(40) == 0:
				ended[i] = true
				at[i] = last
				take(block{from: i, end: true})
			default:
				n++
				for id := at[i] + 1; id <= last; id++ {
					want[id] = append(want[id], n)
				}
				all = append(all, n)
				take(block{from: i, lines: []byte("row"), rows: n})
			}
		}
		for i := range senders { // what is behind
			if !ended[i] {
				take(block{from: i, end: true})
			}
		}
		if slices.Sort(open); !slices.Equal(open, all) {
			t.Fatalf("seed %d: %v came of %v", seed, open, all)
		}
		for id, rows := range got {
			if slices.Sort(rows); !skipped[id] && !slices.Equal(rows, want[id]) {
				t.Fatalf("seed %d: up to the end of epoch %d came %v, want %v", seed, id, rows, want[id])
			}
			epochs++
		}
	}
	if epochs < 2000 {
		t.Errorf("only %d epochs", epochs)
	}
}
