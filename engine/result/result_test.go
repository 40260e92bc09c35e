package result

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"strings"
	"testing"

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

func TestAResultRow(t *testing.T) {
	r := rows("a\"\n", -7, stream.Window{Start: -1000, End: 9000}, Update, 3)
	sum := sha256.Sum256([]byte("job\nstep\n{\"k\":\"a\\\"\\n\",\"n\":-7}\n-1000\n9000\n0"))
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

func TestNumbersReadBackAndTextIsEscaped(t *testing.T) {
	for _, f := range []float64{0, -1, 0.1, 1e21, 1e20, 1e-6, 1e-7, 123456789.125, math.MaxFloat64, 5e-324} {
		got := string(appendFloat(nil, f))
		want, err := json.Marshal(f)
		if err != nil || got != string(want) {
			t.Errorf("%g: got %s, encoding/json %s", f, got, want)
		}
	}
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
		stream.MaxTime: "9223372036854775807", stream.MinTime: "-9223372036854775808",
		253402300799999: `"9999-12-31T23:59:59.999Z"`, 253402300800000: "253402300800000",
	} {
		if got := string(appendTime(nil, tm, RFC3339)); got != want {
			t.Errorf("%d: got %s, want %s", tm, got, want)
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
	sum := sha256.Sum256([]byte("job\nstep\n{\"k\":\"a\",\"n\":1}\n0\n10\n2"))
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
	sum := sha256.Sum256([]byte("job\nstep\nnull\nl.jsonl\n3\nr.jsonl\n4\n0"))
	want := `{"id":"` + hex.EncodeToString(sum[:16]) + `","step":"step","key":null,"window":null,"revision":0,"time":1000,"value":{"left":{"v":7},"right":{}}}` + "\n"
	if got := string(NewPairEncoder("job", "step", nil, left, right, split, Millis).Append(nil, r, 0)); got != want {
		t.Errorf("got  %swant %s", got, want)
	}
}
