package main

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// Data describes a stream of lines
//
//	{"event_time":1760000400000,"key":"k0000123","user_id":"u04412345","amount":12.25,"type":"click","seq":0,"region":"eu-west-1"}
//
// The same description is the same bytes on every machine: all draws are integers.
type Data struct {
	Lines      int
	Keys       int
	StepMicros int64 // event time from one line to the next
	// Permuted takes the keys in turn, in an order that leaps; otherwise few are frequent
	// and many rare.
	Permuted bool
	// Late, in ms, is how far one line in a hundred is behind at most, and more than disorder:
	// it is late.
	Late int64
}

// name tells the data from others, for the name of a file.
func (d Data) name() string {
	return fmt.Sprintf("lines-%d-%d-%d-%v-%d", d.Lines, d.Keys, d.StepMicros, d.Permuted, d.Late)
}

const (
	// leap is a prime that divides no number of keys here: keys in turn meet all of them.
	leap = 7919
	seed = 42 // of splitmix64
	// disorder is how many ms half of the lines are behind, at most: nothing is late for
	// a watermark that far behind.
	disorder = 5000
)

// firstTime is the event time of the first line, in ms: a full hour.
const firstTime int64 = 1_760_000_400_000

// userIDs bounds the user ids, maxQuarters the amount: with at most 1,000.00
// in steps of 0.25, sums of amounts are exact in float64 in any order.
const (
	userIDs     = 5_000_000
	maxQuarters = 4000
)

var (
	eventTypes = [...]string{"click", "view", "purchase", "refund", "login", "search"}
	regions    = [...]string{"eu-west-1", "us-east-1", "ap-south-1", "sa-east-1"}
	quarters   = [...]string{".00", ".25", ".50", ".75"}
)

// splitmix64 is Steele, Lea and Flood's generator.
type splitmix64 uint64

func (s *splitmix64) next() uint64 {
	*s += 0x9e3779b97f4a7c15
	x := uint64(*s)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// zipf draws keys with weights that fall like 1/(rank+10): the ten most frequent of
// 10,000 keys get a tenth of all draws.
type zipf struct{ upTo []uint64 } // upTo[i] is the sum of the weights of keys 0 to i

func newZipf(keys int) zipf {
	z := zipf{make([]uint64, keys)}
	var sum uint64
	for rank := range z.upTo {
		sum += (1 << 32) / uint64(rank+10)
		z.upTo[rank] = sum
	}
	return z
}

func (z zipf) key(draw uint64) int {
	point := draw % z.upTo[len(z.upTo)-1]
	key, _ := slices.BinarySearch(z.upTo, point+1) // the first key whose sum lies above point
	return key
}

// Generate writes the lines.
func (d Data) Generate(out io.Writer) error {
	buf := bufio.NewWriterSize(out, 1<<20)
	random := splitmix64(seed)
	keys := newZipf(d.Keys)
	var line []byte
	for seq := range d.Lines {
		// Three draws a line, whether they are needed or not, so that a change of one
		// column leaves the others as they are.
		keyDraw, delayDraw, restDraw := random.next(), random.next(), random.next()

		time := firstTime + int64(seq)*d.StepMicros/1000
		delay := int64(0)
		if delayDraw&1 == 1 {
			delay = int64((delayDraw >> 1) % (disorder + 1))
		}
		if d.Late > 0 && (delayDraw>>20)%100 == 0 {
			delay = disorder + 1 + int64((delayDraw>>32)%uint64(d.Late-disorder))
		}
		time = max(time-delay, firstTime)
		key := uint64(seq) * leap % uint64(d.Keys)
		if !d.Permuted {
			key = uint64(keys.key(keyDraw))
		}
		amount := 1 + (restDraw>>23)%maxQuarters

		line = append(line[:0], `{"event_time":`...)
		line = strconv.AppendInt(line, time, 10)
		line = append(line, `,"key":"k`...)
		line = appendPadded(line, key, 7)
		line = append(line, `","user_id":"u`...)
		line = appendPadded(line, restDraw%userIDs, 8)
		line = append(line, `","amount":`...)
		line = strconv.AppendUint(line, amount/4, 10)
		line = append(line, quarters[amount%4]...)
		line = append(line, `,"type":"`...)
		line = append(line, eventTypes[(restDraw>>40)%uint64(len(eventTypes))]...)
		line = append(line, `","seq":`...)
		line = strconv.AppendInt(line, int64(seq), 10)
		line = append(line, `,"region":"`...)
		line = append(line, regions[(restDraw>>50)%uint64(len(regions))]...)
		line = append(line, "\"}\n"...)
		if _, err := buf.Write(line); err != nil {
			return fmt.Errorf("write line %d: %w", seq, err)
		}
	}
	return buf.Flush()
}

// appendPadded appends n with leading zeros up to width digits.
func appendPadded(b []byte, n uint64, width int) []byte {
	digits := len(b)
	b = strconv.AppendUint(b, n, 10)
	for missing := width - (len(b) - digits); missing > 0; missing-- {
		b = slices.Insert(b, digits, '0')
	}
	return b
}
