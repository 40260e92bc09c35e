package result

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"tidemark/engine/stream"
)

// rows builds one row: key fields k (string) and n (int64), aggregates c (one output)
// and s (two outputs).
func rows(k string, n int64, w stream.Window, kind Kind, revision uint32) *Rows {
	r := new(Rows)
	r.Reset(testKey, testValues)
	r.Key.Cols[0].AppendStr(stream.Str{Off: 0, Len: uint32(len(k))})
	r.Key.Blob = append(r.Key.Blob, k...)
	r.Key.Cols[1].AppendInt(n)
	r.Window, r.Kind, r.Revision = append(r.Window, w), append(r.Kind, kind), append(r.Revision, revision)
	r.SinceLast, r.Replaces = append(r.SinceLast, false), append(r.Replaces, nil)
	r.Values[0].Cols[0].AppendInt(1 << 60)
	r.Values[1].Cols[0].AppendFloat(0.1)
	r.Values[1].Cols[1].AppendNull()
	r.N = 1
	return r
}

var (
	testKey    = []stream.Field{{Name: "k", Kind: stream.String}, {Name: "n", Kind: stream.Int64}}
	testValues = [][]stream.Field{{{Name: "count", Kind: stream.Int64}}, {{Name: "sum", Kind: stream.Float64}, {Name: "min", Kind: stream.Float64}}}
)

func encode(r *Rows, f TimeFormat) string {
	return string(NewEncoder("job", "step", testKey, []string{"c", "s"}, testValues, f).Append(nil, r, 0))
}

// idOf is an id as it is described: the head filled with zeros to whole blocks, and the rest.
func idOf(head, rest string) [32]byte {
	for len(head)%64 != 0 {
		head += "\x00"
	}
	return sha256.Sum256([]byte(head + rest))
}

// Heads and rests of any length, of rows that share a window and rows that do not.
func TestAnIDIsTheHashOfHeadAndRest(t *testing.T) {
	for n := range 200 {
		job, k := strings.Repeat("j", 1+n%70), strings.Repeat("k", n)
		e := NewEncoder(job, "step", testKey, []string{"c", "s"}, testValues, RFC3339)
		for row := range int64(6) {
			w := stream.Window{Start: stream.Time(row / 3), End: 1000}
			got := string(e.Append(nil, rows(k, row, w, OnTime, 0), 0))
			sum := idOf(fmt.Sprintf("%s\nstep\n%d\n1000\n", job, w.Start), fmt.Sprintf(`{"k":"%s","n":%d}`+"\n0", k, row))
			if got[7:39] != hex.EncodeToString(sum[:16]) {
				t.Fatalf("row %d with a key of %d bytes has the id %s", row, n, got[7:39])
			}
		}
	}
}

func TestAResultRow(t *testing.T) {
	r := rows("a\"\n", -7, stream.Window{Start: -1000, End: 9000}, Update, 3)
	sum := idOf("job\nstep\n-1000\n9000\n", "{\"k\":\"a\\\"\\n\",\"n\":-7}\n0")
	want := `{"id":"` + hex.EncodeToString(sum[:16]) + `","step":"step","key":{"k":"a\"\n","n":-7},` +
		`"window":{"start":"1969-12-31T23:59:59.000Z","end":"1970-01-01T00:00:09.000Z"},"kind":"update","revision":3,` +
		`"value":{"c":1152921504606846976,"s":{"sum":0.1,"min":null}}}` + "\n"
	if got := encode(r, RFC3339); got != want {
		t.Errorf("got  %swant %s", got, want)
	}
	want = strings.Replace(want, `{"start":"1969-12-31T23:59:59.000Z","end":"1970-01-01T00:00:09.000Z"}`, `{"start":-1000,"end":9000}`, 1)
	if got := encode(r, Millis); got != want {
		t.Errorf("with integer times: got  %swant %s", got, want)
	}
}

// What an encoder keeps from one row must not show in the next.
func TestAnEncoderThatHasWrittenOtherRowsWritesTheSame(t *testing.T) {
	r := new(Rows)
	r.Reset(testKey, testValues)
	for i := range 200 {
		one := rows(fmt.Sprint("key", i%7), int64(i), stream.Window{Start: 0, End: stream.Time(10 * (1 + i/3%2))}, Kind(i/5%3), uint32(i/7%2))
		if i/2%5 == 0 {
			one.Window[0] = stream.Global
		}
		if i%11 == 0 {
			one.SinceLast[0], one.Replaces[0] = true, []stream.Window{{Start: 5, End: 6}, {Start: 7, End: 8}}
		}
		r.Key.AppendRow(&one.Key, 0)
		r.Window, r.Kind, r.Revision = append(r.Window, one.Window...), append(r.Kind, one.Kind...), append(r.Revision, one.Revision...)
		r.SinceLast, r.Replaces = append(r.SinceLast, one.SinceLast...), append(r.Replaces, one.Replaces...)
		for v := range r.Values {
			r.Values[v].AppendRow(&one.Values[v], 0)
		}
		r.Ordinal, r.Of = append(r.Ordinal, uint64(i%3)), append(r.Of, uint64(i%4))
		r.N++
	}
	for _, f := range []TimeFormat{RFC3339, Millis} {
		used := NewEncoder("job", "step", testKey, []string{"c", "s"}, testValues, f)
		for i := range r.N {
			fresh := NewEncoder("job", "step", testKey, []string{"c", "s"}, testValues, f)
			if got, want := string(used.Append(nil, r, i)), string(fresh.Append([]byte("before"), r, i)); "before"+got != want {
				t.Fatalf("row %d: got %s, from an encoder of its own %s", i, got, want)
			}
		}
	}
}

func TestTheKeysTimesAreInTheIDAsText(t *testing.T) {
	key := []stream.Field{{Name: "at", Kind: stream.Timestamp}}
	r := new(Rows)
	r.Reset(key, testValues)
	r.Key.Cols[0].AppendInt(1500)
	r.Window, r.Kind, r.Revision = []stream.Window{{Start: 0, End: 10}}, []Kind{OnTime}, []uint32{0}
	r.SinceLast, r.Replaces = []bool{false}, [][]stream.Window{nil}
	r.Values[0].Cols[0].AppendInt(1)
	r.Values[1].Cols[0].AppendNull()
	r.Values[1].Cols[1].AppendNull()
	r.N = 1
	sum := idOf("job\nstep\n0\n10\n", "{\"at\":\"1970-01-01T00:00:01.500Z\"}\n0")
	for f, text := range map[TimeFormat]string{RFC3339: `"1970-01-01T00:00:01.500Z"`, Millis: "1500"} {
		got := string(NewEncoder("job", "step", key, []string{"c", "s"}, testValues, f).Append(nil, r, 0))
		if got[7:39] != hex.EncodeToString(sum[:16]) || !strings.Contains(got, `"key":{"at":`+text+`}`) {
			t.Error(got)
		}
	}
}

func TestAnIDNamesItsRow(t *testing.T) {
	id := func(r *Rows) string { return encode(r, RFC3339)[7:39] }
	w := stream.Window{Start: 0, End: 10}
	base := id(rows("a", 1, w, OnTime, 0))
	if got := id(rows("a", 1, w, Update, 1)); got != base {
		t.Error("a later revision of a window has another id")
	}
	for name, r := range map[string]*Rows{
		"key":    rows("a", 2, w, OnTime, 0),
		"text":   rows("a1", 1, w, OnTime, 0),
		"window": rows("a", 1, stream.Window{Start: 0, End: 11}, OnTime, 0),
	} {
		if id(r) == base {
			t.Errorf("another %s has the same id", name)
		}
	}
}

func TestAGlobalWindowIsNullAndHasNoKind(t *testing.T) {
	got := encode(rows("a", 1, stream.Global, NoKind, 0), RFC3339)
	if !strings.Contains(got, `"window":null,"revision":0,`) {
		t.Error(got)
	}
}

func TestTextIsEscaped(t *testing.T) {
	for _, s := range []string{"", "plain", "a\"b\\c", "\x00\x1f\t\r\n", "ü€😀", "</script>"} {
		var back string
		if err := json.Unmarshal(AppendString(nil, []byte(s)), &back); err != nil || back != s {
			t.Errorf("%q reads back as %q: %v", s, back, err)
		}
	}
}

func TestTimesThatRFC3339CannotWriteAreIntegers(t *testing.T) {
	for tm, want := range map[stream.Time]string{
		0: `"1970-01-01T00:00:00.000Z"`, 1517365101235: `"2018-01-31T02:18:21.235Z"`,
		951782400000: `"2000-02-29T00:00:00.000Z"`, -1: `"1969-12-31T23:59:59.999Z"`, -62167219200000: `"0000-01-01T00:00:00.000Z"`, -62167219200001: "-62167219200001",
		stream.MaxTime: "9223372036854775807", stream.MinTime: "-9223372036854775808",
		253402300799999: `"9999-12-31T23:59:59.999Z"`, 253402300800000: "253402300800000",
	} {
		if got := string(appendTime(nil, tm, RFC3339)); got != want {
			t.Errorf("%d: got %s, want %s", tm, got, want)
		}
	}
	const step = stream.Time(86_399_000_977) // ever another time of day, in all years
	for tm := minRFC3339; tm <= maxRFC3339; tm += step {
		want := `"` + time.UnixMilli(int64(tm)).UTC().Format("2006-01-02T15:04:05.000Z") + `"`
		if got := string(appendTime(nil, tm, RFC3339)); got != want {
			t.Fatalf("%d: got %s, want %s", tm, got, want)
		}
	}
}

func TestABadRecordKeepsItsBytes(t *testing.T) {
	b := &Bad{Source: "s", Split: "f.jsonl", Line: 3, Offset: 40, Reason: "invalid_json", Message: "a comma is missing", Raw: []byte("{\"a\"1}")}
	want := `{"source":"s","split":"f.jsonl","line":3,"offset":40,"reason":"invalid_json","message":"a comma is missing","raw":"{\"a\"1}"}` + "\n"
	if got := string(AppendBad(nil, b, RFC3339)); got != want {
		t.Errorf("got  %swant %s", got, want)
	}
	b.Raw = []byte{'a', 0xff}
	if got := string(AppendBad(nil, b, RFC3339)); !strings.HasSuffix(got, `"raw_base64":"Yf8="}`+"\n") {
		t.Error(got)
	}
	b.Quarantined, b.Time, b.AheadBy = true, 1000, 5
	if got := string(AppendBad(nil, b, Millis)); !strings.Contains(got, `"time":1000,"ahead_by_ms":5,`) {
		t.Error(got)
	}
}

func TestAListIsWrittenAsItStands(t *testing.T) {
	text := "[1,\"a\\\"\",null]"
	c := stream.Column{Kind: stream.JSON}
	c.AppendStr(stream.Str{Off: 1, Len: uint32(len(text))})
	c.AppendNull()
	blob := []byte("x" + text)
	if got := string(AppendValue(nil, &c, 0, blob, RFC3339)); got != text {
		t.Errorf("got %s, want %s", got, text)
	}
	if got := string(AppendValue(nil, &c, 1, blob, RFC3339)); got != "null" {
		t.Errorf("got %s, want null", got)
	}
}

func TestARowOfSeveralSaysWhichItIs(t *testing.T) {
	r := rows("a", 1, stream.Window{Start: 0, End: 10}, Update, 1)
	r.Ordinal, r.Of = []uint64{2}, []uint64{5}
	sum := idOf("job\nstep\n0\n10\n", "{\"k\":\"a\",\"n\":1}\n2")
	got := encode(r, Millis)
	if !strings.Contains(got, `"revision":1,"ordinal":2,"rows":5,"value"`) || got[7:39] != hex.EncodeToString(sum[:16]) {
		t.Error(got)
	}
	r.Ordinal[0] = 0
	if got := encode(r, Millis); !strings.Contains(got, `"revision":1,"rows":5,"value"`) {
		t.Error(got)
	}
	r.Of[0] = 1
	if got := encode(r, Millis); got != encode(rows("a", 1, stream.Window{Start: 0, End: 10}, Update, 1), Millis) {
		t.Error(got)
	}
}

func TestAPairIsNamedByItsRecords(t *testing.T) {
	left, right := []stream.Field{{Name: "v", Kind: stream.Int64}}, []stream.Field(nil)
	r := new(Rows)
	r.Reset(nil, [][]stream.Field{left, right})
	r.N, r.Window, r.Kind, r.Revision = 1, []stream.Window{stream.Global}, []Kind{NoKind}, []uint32{0}
	r.SinceLast, r.Replaces = []bool{false}, [][]stream.Window{nil}
	r.Values[0].Cols[0].AppendInt(7)
	r.Pairs = &Pairs{Time: []stream.Time{1000}, Left: []Place{{Split: 0, Pos: 3}}, Right: []Place{{Split: 1, Pos: 4}}}
	split := func(id stream.SplitID) string { return []string{"l.jsonl", "r.jsonl"}[id] }
	sum := idOf("job\nstep\n", "null\nl.jsonl\n3\nr.jsonl\n4\n0")
	want := `{"id":"` + hex.EncodeToString(sum[:16]) + `","step":"step","key":null,"window":null,"revision":0,"time":1000,"value":{"left":{"v":7},"right":{}}}` + "\n"
	if got := string(NewPairEncoder("job", "step", nil, left, right, split, Millis).Append(nil, r, 0)); got != want {
		t.Errorf("got  %swant %s", got, want)
	}
}

// Rows are used again for the next firings, which must not inherit anything.
func TestRowsThatAreExtendedSayNothing(t *testing.T) {
	r := rows("a", 1, stream.Window{Start: 1, End: 2}, Update, 3)
	r.SinceLast[0], r.Replaces[0] = true, []stream.Window{{Start: 1, End: 2}}
	r.EncodedKey, r.Before = [][]byte{{1}}, []stream.Time{4}
	r.Reset(testKey, testValues)
	r.Extend(2)
	for i := range r.N {
		if r.EncodedKey[i] != nil || r.Window[i] != (stream.Window{}) || r.Before[i] != 0 || r.Kind[i] != NoKind || r.Revision[i] != 0 || r.SinceLast[i] || r.Replaces[i] != nil {
			t.Errorf("row %d says %+v", i, r)
		}
	}
	if r.N != 2 {
		t.Errorf("%d rows, not 2", r.N)
	}
}
