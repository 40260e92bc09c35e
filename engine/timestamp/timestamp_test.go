package timestamp

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"tidemark/engine/job"
	"tidemark/engine/stream"
	"tidemark/internal/fault"
)

func spec(unit string) job.TimeSpec { return job.TimeSpec{Path: []string{"meta", "ts"}, Unit: unit} }

func TestParse(t *testing.T) {
	const (
		missing = "missing_time"
		bad     = "bad_time"
	)
	berlin := job.TimeSpec{Path: []string{"ts"}, Unit: "layout", Layout: "2006-01-02 15:04:05", Zone: "Europe/Berlin"}
	for _, row := range []struct {
		name  string
		spec  job.TimeSpec
		token string
		want  stream.Time
		fails string // a reason instead of a time
	}{
		{"milliseconds", spec("ms"), `1517365101235`, 1517365101235, ""},
		{"milliseconds in quotes", spec("ms"), `"1517365101235"`, 1517365101235, ""},
		{"zero is a time", spec("ms"), `0`, 0, ""},
		{"before 1970", spec("ms"), `-1`, -1, ""},
		{"leading zeros, as CSV may have", spec("ms"), `000000000000000000005`, 5, ""},
		{"the last millisecond around which windows can be laid out", spec("ms"), `4611686018427387904`, 1 << 62, ""},
		{"one beyond", spec("ms"), `4611686018427387905`, 0, bad},
		{"the last of 64 bits", spec("ms"), `9223372036854775807`, 0, bad},
		{"one beyond 64 bits", spec("ms"), `9223372036854775808`, 0, bad},
		{"far beyond", spec("ms"), `99999999999999999999999`, 0, bad},
		{"the first around which windows can be laid out", spec("ms"), `-4611686018427387904`, -1 << 62, ""},
		{"one before", spec("ms"), `-4611686018427387905`, 0, bad},
		{"the first of 64 bits", spec("ms"), `-9223372036854775808`, 0, bad},
		{"a fraction of a millisecond is floored", spec("ms"), `1.999`, 1, ""},
		{"before 1970 too", spec("ms"), `-1.001`, -2, ""},
		{"a fraction of zeros changes nothing", spec("ms"), `-1.000`, -1, ""},
		{"an exponent", spec("ms"), `1.517365101235e12`, 1517365101235, ""},
		{"a capital exponent with a sign", spec("ms"), `5E+2`, 500, ""},
		{"a negative exponent", spec("ms"), `12345e-2`, 123, ""},
		{"a negative exponent before 1970", spec("ms"), `-12345e-2`, -124, ""},
		{"an exponent that makes nothing", spec("ms"), `5e-99999999999`, 0, ""},
		{"nearly nothing before 1970", spec("ms"), `-5e-99999999999`, -1, ""},
		{"zero with a large exponent", spec("ms"), `0e99999999999`, 0, ""},
		{"an exponent out of range", spec("ms"), `1e19`, 0, bad},
		{"a large exponent out of range", spec("ms"), `1e99999999999`, 0, bad},

		{"seconds", spec("s"), `1517365101`, 1517365101000, ""},
		{"seconds with a fraction, exact", spec("s"), `1517365101.235`, 1517365101235, ""},
		{"seconds with a long fraction are floored", spec("s"), `0.0019999999999999999999`, 1, ""},
		{"before 1970, floored", spec("s"), `-0.0001`, -1, ""},
		{"before 1970, exact", spec("s"), `-1.5`, -1500, ""},
		{"a double's seconds are exact", spec("s"), `1.517365101235E9`, 1517365101235, ""},
		{"the last second", spec("s"), `4611686018427387.904`, 1 << 62, ""},
		{"a fraction of it is too far", spec("s"), `4611686018427387.905`, 0, bad},
		{"seconds that overflow in ms", spec("s"), `9223372036854775.808`, 0, bad},
		{"seconds that overflow by far", spec("s"), `9223372036854775807`, 0, bad},

		{"microseconds", spec("us"), `1517365101235999`, 1517365101235, ""},
		{"microseconds before 1970 are floored", spec("us"), `-1`, -1, ""},
		{"whole microseconds before 1970", spec("us"), `-2000`, -2, ""},
		{"fewer digits than a millisecond has", spec("us"), `7`, 0, ""},
		{"a fraction of a microsecond", spec("us"), `7.5`, 0, bad},
		{"microseconds with an exponent", spec("us"), `1e15`, 0, bad},
		{"nanoseconds", spec("ns"), `1517365101235999999`, 1517365101235, ""},
		{"nanoseconds before 1970 are floored", spec("ns"), `-1000001`, -2, ""},
		{"nanoseconds beyond 64 bits", spec("ns"), `99999999999999999999`, 99999999999999, ""},
		{"a fraction of a nanosecond", spec("ns"), `1.0`, 0, bad},

		{"text for a number", spec("ms"), `"yesterday"`, 0, bad},
		{"a date for a number", spec("ms"), `"2018-01-31"`, 0, bad},
		{"a plus", spec("ms"), `+5`, 0, bad},
		{"a blank", spec("ms"), `" 5"`, 0, bad},
		{"a minus alone", spec("ms"), `-`, 0, bad},
		{"a point alone", spec("ms"), `5.`, 0, bad},
		{"an exponent alone", spec("ms"), `5e`, 0, bad},
		{"hexadecimal", spec("ms"), `"0x10"`, 0, bad},
		{"NaN", spec("s"), `NaN`, 0, bad},
		{"a boolean", spec("ms"), `true`, 0, bad},
		{"an object", spec("ms"), `{"a":1}`, 0, bad},
		{"a quote without its twin", spec("ms"), `"`, 0, bad},
		{"missing", spec("ms"), ``, 0, missing},
		{"null", spec("ms"), `null`, 0, missing},
		{"empty", spec("ms"), `""`, 0, missing},
		{"the word null in quotes", spec("ms"), `"null"`, 0, bad},
		{"missing in a layout", berlin, ``, 0, missing},

		{"a date in UTC", spec("rfc3339"), `"2018-01-31T02:18:21.235Z"`, 1517365101235, ""},
		{"a date without quotes, from CSV", spec("rfc3339"), `1970-01-01T00:00:00Z`, 0, ""},
		{"an offset to the east", spec("rfc3339"), `"1970-01-01T01:30:00+01:30"`, 0, ""},
		{"an offset to the west", spec("rfc3339"), `"1969-12-31T19:00:00-05:00"`, 0, ""},
		{"the unknown offset", spec("rfc3339"), `"1970-01-01T00:00:00-00:00"`, 0, ""},
		{"small letters", spec("rfc3339"), `"1970-01-01t00:00:01z"`, 1000, ""},
		{"a blank for the T", spec("rfc3339"), `"1970-01-01 00:00:01Z"`, 1000, ""},
		{"one digit of a second", spec("rfc3339"), `"1970-01-01T00:00:00.5Z"`, 500, ""},
		{"many digits are cut off", spec("rfc3339"), `"1970-01-01T00:00:00.123987654321Z"`, 123, ""},
		{"before 1970 they are cut off downwards", spec("rfc3339"), `"1969-12-31T23:59:59.9999Z"`, -1, ""},
		{"a leap day", spec("rfc3339"), `"2000-02-29T00:00:00Z"`, 951782400000, ""},
		{"the year 0", spec("rfc3339"), `"0000-01-01T00:00:00Z"`, -62167219200000, ""},
		{"the year 9999", spec("rfc3339"), `"9999-12-31T23:59:59.999Z"`, 253402300799999, ""},
		{"a leap day in a year without", spec("rfc3339"), `"1900-02-29T00:00:00Z"`, 0, bad},
		{"a leap second", spec("rfc3339"), `"2016-12-31T23:59:60Z"`, 0, bad},
		{"hour 24", spec("rfc3339"), `"2016-12-31T24:00:00Z"`, 0, bad},
		{"month 13", spec("rfc3339"), `"2016-13-01T00:00:00Z"`, 0, bad},
		{"day 0", spec("rfc3339"), `"2016-12-00T00:00:00Z"`, 0, bad},
		{"an offset of 24 hours", spec("rfc3339"), `"2016-12-31T00:00:00+24:00"`, 0, bad},
		{"no offset", spec("rfc3339"), `"2016-12-31T00:00:00"`, 0, bad},
		{"an offset without colon", spec("rfc3339"), `"2016-12-31T00:00:00+0100"`, 0, bad},
		{"a point without digits", spec("rfc3339"), `"2016-12-31T00:00:00.Z"`, 0, bad},
		{"a date alone", spec("rfc3339"), `"2016-12-31"`, 0, bad},
		{"a number", spec("rfc3339"), `1517365101235`, 0, bad},
		{"something behind", spec("rfc3339"), `"2016-12-31T00:00:00Z "`, 0, bad},
		{"escapes in the text", spec("rfc3339"), `"1970-01-01T00:00:00\u005a"`, 0, ""},

		{"a layout", job.TimeSpec{Path: []string{"ts"}, Unit: "layout", Layout: "02/Jan/2006:15:04:05 -0700"}, `"01/Jan/1970:01:00:00 +0100"`, 0, ""},
		{"a layout without offset is UTC", job.TimeSpec{Path: []string{"ts"}, Unit: "layout", Layout: "2006-01-02"}, `1970-01-02`, 86400000, ""},
		{"a layout with escaped slashes", job.TimeSpec{Path: []string{"ts"}, Unit: "layout", Layout: "02/01/2006"}, `"02\/01\/1970"`, 86400000, ""},
		{"a layout in half-days", job.TimeSpec{Path: []string{"ts"}, Unit: "layout", Layout: "2006-01-02 03:04 PM"}, `1970-01-01 12:01 AM`, 60000, ""},
		{"text that does not follow the layout", berlin, `"1970-01-01"`, 0, bad},
		{"a zone in winter", berlin, `"2019-01-15 12:00:00"`, 1547550000000, ""},
		{"a zone in summer", berlin, `"2019-07-15 12:00:00"`, 1563184800000, ""},
		{"the last second before the clocks go forward", berlin, `"2019-03-31 01:59:59"`, 1553993999000, ""},
		{"a time that is skipped", berlin, `"2019-03-31 02:30:00"`, 0, bad},
		{"the first second after", berlin, `"2019-03-31 03:00:00"`, 1553994000000, ""},
		{"a time that comes twice is the first", berlin, `"2019-10-27 02:30:00"`, 1572136200000, ""},
		{"the hour after it", berlin, `"2019-10-27 03:00:00"`, 1572141600000, ""},
		{"before the zone's first change", berlin, `"1850-01-01 00:00:00"`, -3786828808000, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			a, err := New(row.spec)
			if err != nil {
				t.Fatal(err)
			}
			got, err := a.Parse([]byte(row.token))
			if row.fails == "" {
				if err != nil || got != row.want {
					t.Errorf("%s is %d, %v, want %d", row.token, got, err, row.want)
				}
				return
			}
			var e *Error
			if !errors.As(err, &e) || string(e.Reason) != row.fails || !strings.Contains(e.Message, "field "+strings.Join(row.spec.Path, ".")) {
				t.Errorf("%s is %d, %v, want %s that names the field", row.token, got, err, row.fails)
			}
		})
	}
}

// Missing, null and empty are told apart.
func TestMissingTimesSayWhat(t *testing.T) {
	a, err := New(spec("ms"))
	if err != nil {
		t.Fatal(err)
	}
	for token, want := range map[string]string{"": "is missing", "null": "is null", `""`: "is empty"} {
		if _, err := a.Parse([]byte(token)); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%q: %v, want %q", token, err, want)
		}
	}
}

func TestTimesTooFarAwaySayWhy(t *testing.T) {
	a, err := New(spec("ms"))
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range []string{"9223372036854775807", "-9223372036854775808", "5e18"} {
		if _, err := a.Parse([]byte(token)); err == nil || !strings.Contains(err.Error(), "146 million years") {
			t.Errorf("%s: %v", token, err)
		}
	}
}

func TestSpecsThatAreRefused(t *testing.T) {
	for _, row := range []struct{ name, unit, layout, zone, want string }{
		{"an unknown unit", "min", "", "", `unknown unit "min"`},
		{"no layout", "layout", "", "", "needs a layout"},
		{"a layout without a date", "layout", "hello", "", "no part of a date"},
		{"a layout without a year", "layout", "Jan _2 15:04:05", "", "no year"},
		{"half-days without PM", "layout", "2006-01-02 03:04", "", "without PM"},
		{"a zone's abbreviation", "layout", "2006-01-02 15:04 MST", "", "abbreviation"},
		{"an unknown zone", "layout", "2006-01-02", "Middle/Earth", "unknown zone"},
		{"the machine's zone", "layout", "2006-01-02", "Local", "unknown zone"},
		{"a zone beside an offset", "layout", time.RFC3339, "Europe/Berlin", "no effect"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := New(job.TimeSpec{Path: []string{"ts"}, Unit: row.unit, Layout: row.layout, Zone: row.zone})
			if !errors.Is(err, fault.ErrUser) || !strings.Contains(err.Error(), row.want) {
				t.Errorf("%v, want a user's error with %q", err, row.want)
			}
		})
	}
}

func TestPlausible(t *testing.T) {
	const now = stream.Time(1790000000000) // September 2026
	for _, row := range []struct {
		name   string
		unit   string
		tokens string
		want   string // in the error; empty: none
	}{
		{"milliseconds as declared", "ms", "1517365101235 1517365017350", ""},
		{"seconds where milliseconds are declared", "ms", "1517365101 1517365017", "is the unit s meant?"},
		{"milliseconds where seconds are declared", "s", "1517365101235", "is the unit ms meant?"},
		{"microseconds where milliseconds are declared", "ms", "1517365101235000", "is the unit us meant?"},
		{"nanoseconds where milliseconds are declared", "ms", "1517365101235000000", "is the unit ns meant?"},
		{"seconds where nanoseconds are declared", "ns", "1517365101", "is the unit s meant?"},
		{"milliseconds where microseconds are declared", "us", "1517365101235", "is the unit ms meant?"},
		{"small numbers of a test fit no unit", "ms", "1 2 5 4 6 10 12", ""},
		{"small numbers in seconds", "s", "1 2 5", ""},
		{"one good value is enough", "ms", "1517365101 1517365101235", ""},
		{"values that agree on no other unit", "ms", "1517365101 5", ""},
		{"1990 is inside", "ms", "631152000000", ""},
		{"just before 1990 fits no unit either", "ms", "631151999999", ""},
		{"a year from now is inside", "ms", "1821500000000", ""},
		{"dates are what they are", "rfc3339", "1823-01-01T00:00:00Z", ""},
		{"nothing to go by", "ms", "", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			a, err := New(spec(row.unit))
			if err != nil {
				t.Fatal(err)
			}
			var times []stream.Time
			for _, token := range strings.Fields(row.tokens) {
				ts, err := a.Parse([]byte(token))
				if err != nil {
					t.Fatal(err)
				}
				times = append(times, ts)
			}
			err = a.Plausible(times, now)
			if row.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.Is(err, fault.ErrUser) || !strings.Contains(err.Error(), row.want) || !strings.Contains(err.Error(), "meta.ts") {
				t.Errorf("%v, want %q", err, row.want)
			}
		})
	}
}

func TestImplausibleTimesAreShown(t *testing.T) {
	a, err := New(spec("ms"))
	if err != nil {
		t.Fatal(err)
	}
	err = a.Plausible([]stream.Time{1517365101}, 1790000000000)
	const want = "time field meta.ts: read in ms the first value is 1970-01-18T13:29:25.101Z, read in s it would be 2018-01-31T02:18:21.000Z: is the unit s meant?"
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestGuard(t *testing.T) {
	const none = stream.MinTime
	g := Guard{MaxFuture: 300, MaxJump: 1000}
	for _, row := range []struct {
		name             string
		guard            Guard
		t, arrival, high stream.Time
		reason           Reason
		ahead            stream.Time
	}{
		{"behind its arrival", g, 100, 200, none, "", 0},
		{"ahead by as much as allowed", g, 500, 200, none, "", 0},
		{"ahead by more", g, 501, 200, none, Future, 301},
		{"arrival is not known", g, 501, none, none, "", 0},
		{"off", Guard{}, 1 << 60, 200, 300, "", 0},
		{"a jump as far as allowed", g, 1100, 1000, 100, "", 0},
		{"a jump further than that", g, 1101, 1000, 100, Jump, 1001},
		{"the first record cannot jump", g, 1101, 1000, none, "", 0},
		{"backwards is no jump", g, -5000, 1000, 100, "", 0},
		{"future comes before jump", g, 9000, 1000, 100, Future, 8000},
		{"near the end of time nothing wraps", g, stream.MaxTime, stream.MaxTime - 5, stream.MaxTime - 7, "", 0},
		{"as far ahead as can be", g, stream.MaxTime, -10, none, Future, stream.MaxTime},
	} {
		t.Run(row.name, func(t *testing.T) {
			reason, ahead, ok := row.guard.Check(row.t, row.arrival, row.high)
			if reason != row.reason || ahead != row.ahead || ok != (row.reason == "") {
				t.Errorf("%q, ahead %d, %v; want %q, %d", reason, ahead, ok, row.reason, row.ahead)
			}
		})
	}
}

func TestGuardOfAJob(t *testing.T) {
	if g := NewGuard(job.TimeSpec{MaxFuture: 5 * time.Minute, MaxJump: time.Second}); g != (Guard{300_000, 1000}) {
		t.Errorf("%+v", g)
	}
}

// rfc3339Shape is what may be read at all; package time also takes a one-digit hour
// and a comma.
var rfc3339Shape = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})$`)

// FuzzRFC3339: what has the shape is read as package time reads it, nothing else is.
func FuzzRFC3339(f *testing.F) {
	for _, s := range []string{"2018-01-31T02:18:21.235Z", "1969-12-31T23:59:59.9999-05:30", "2000-02-29t00:00:00z", "0000-01-01 00:00:00+23:59",
		"2100-02-29T00:00:00Z", "0000-01-01 0:00:00Z", "2018-01-31T02:18:21,235Z", "2018-01-31T02:18:21+24:00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := ParseRFC3339([]byte(s))
		if !rfc3339Shape.MatchString(s) {
			if err == nil {
				t.Fatalf("%q is read as %d", s, got)
			}
			return
		}
		want, werr := time.Parse(time.RFC3339, strings.Replace(strings.ToUpper(s), " ", "T", 1))
		if err == nil && (werr != nil || want.UnixMilli() != int64(got)) {
			t.Fatalf("%q is %d; package time: %v, %v", s, got, want.UnixMilli(), werr)
		}
		// Package time takes offsets of 24 hours and of 60 minutes.
		if err != nil && werr == nil && !strings.Contains(err.Error(), "offset") {
			t.Fatalf("%q: %v; package time: %v", s, err, want)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	for _, row := range []struct{ name, unit, token string }{
		{"ms", "ms", `1517365101235`},
		{"seconds with fraction", "s", `1517365101.235`},
		{"rfc3339", "rfc3339", `"2018-01-31T02:18:21.235Z"`},
	} {
		b.Run(row.name, func(b *testing.B) {
			a, err := New(spec(row.unit))
			if err != nil {
				b.Fatal(err)
			}
			token := []byte(row.token)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := a.Parse(token); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// The fast path and the general one read the same.
func FuzzMilliseconds(f *testing.F) {
	for _, s := range []string{"12345678", "123456789012345678", "1234567", "1234567x", "12/45678", "1234:678", "00000000", "\xff2345678"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, ok := plainMillis(text)
		want, why := parseNumber(text, 0)
		if ok && (why != "" || got != want) {
			t.Fatalf("%q is %d, but %d %s", text, got, want, why)
		}
		if !ok && len(text) >= 8 && len(text) <= 18 && strings.Trim(string(text), "0123456789") == "" {
			t.Fatalf("%q is refused", text)
		}
	})
}
