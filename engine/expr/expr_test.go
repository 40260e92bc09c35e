package expr

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

var schema = []stream.Field{
	{Name: "a", Kind: stream.Int64}, {Name: "b", Kind: stream.Int64}, {Name: "x", Kind: stream.Float64}, {Name: "y", Kind: stream.Float64},
	{Name: "ok", Kind: stream.Bool}, {Name: "s", Kind: stream.String}, {Name: "t", Kind: stream.Timestamp}, {Name: "user.id", Kind: stream.Int64},
}

// record is one record of the schema; nil is null.
type record [8]any

// one is the record that most tests look at: 2018-01-31T23:30:00.250Z.
var one = record{int64(7), int64(-2), 2.5, -0.5, true, "héllo", stream.Time(1517441400250), int64(42)}

// null is a record without any value.
var null record

func batchOf(records ...record) *stream.Batch {
	b := new(stream.Batch)
	kinds := make([]stream.Kind, len(schema))
	for i, f := range schema {
		kinds[i] = f.Kind
	}
	b.Reset(kinds)
	for _, r := range records {
		for i, v := range r {
			switch c := &b.Cols[i]; v := v.(type) {
			case nil:
				c.AppendNull()
			case int64:
				c.AppendInt(v)
			case stream.Time:
				c.AppendInt(int64(v))
			case float64:
				c.AppendFloat(v)
			case bool:
				c.AppendBool(v)
			case string:
				c.AppendStr(stream.Str{Off: uint32(len(b.Blob)), Len: uint32(len(v))})
				b.Blob = append(b.Blob, v...)
			}
		}
		b.N++
	}
	return b
}

func all(n int) []uint32 {
	rows := make([]uint32, n)
	for i := range rows {
		rows[i] = uint32(i)
	}
	return rows
}

// run applies a step to a batch of the schema.
func run(t *testing.T, s *Step, b *stream.Batch, sel []uint32) *udf.Mapped {
	t.Helper()
	out := new(udf.Mapped)
	rows := udf.Rows{Batch: b, Sel: sel}
	for _, in := range s.info.Inputs {
		for i, f := range schema {
			if f.Name == in.Name {
				rows.Cols = append(rows.Cols, i)
			}
		}
	}
	if err := s.Apply(&rows, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// text shows row i of a column.
func text(c *stream.Columns, col, i int) string {
	switch v := &c.Cols[col]; {
	case v.Null(i):
		return "null"
	case v.Kind == stream.Float64:
		return fmt.Sprint(v.Floats[i])
	case v.Kind == stream.Bool:
		return fmt.Sprint(v.Bools[i])
	case v.Kind == stream.String:
		return string(v.Strs[i].Bytes(c.Blob))
	default:
		return fmt.Sprint(v.Ints[i])
	}
}

// eval is the value of an expression for a record.
func eval(t *testing.T, expression string, r record) string {
	t.Helper()
	s, err := New(Config{Schema: schema, Derive: []Derived{{"v", expression}}, Project: []Projected{{"v", "v"}}})
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	out := run(t, s, batchOf(r), all(1))
	if len(out.Refused) > 0 {
		if out.N != 0 || len(out.Refused) != 1 || out.Refused[0].Op != 0 {
			t.Fatalf("%s: %d rows, refused %v", expression, out.N, out.Refused)
		}
		return out.Refused[0].Message
	}
	return text(&out.Columns, 0, 0)
}

func TestExpressions(t *testing.T) {
	for _, c := range []struct{ expr, want string }{
		{"a", "7"},
		{"user.id", "42"},
		{"a + b * 3", "1"},
		{"7 / b", "-3"}, // rounded towards zero
		{"a % b", "1"},
		{"b % a", "-2"},
		{"-b - -a", "9"},
		{"x * y", "-1.25"},
		{"x / 0.5 - 1.0", "4"},
		{"double(a) / 2.0", "3.5"},
		{"int(x) + int(-2.9)", "0"},
		{"int('-12') + int(s == 'x' ? '1' : '2')", "-10"},
		{"double('1e3')", "1000"},
		{"string(a) + '/' + string(x) + '/' + string(ok) + '/' + string(t)", "7/2.5/true/2018-01-31T23:30:00.25Z"},
		{"9223372036854775807 - 1", "9223372036854775806"},
		{"-9223372036854775808", "-9223372036854775808"},
		{"9007199254740993 > 9007199254740992.0", "true"}, // exact, though no float is the first
		{"9223372036854775807 < 9223372036854775808.0", "true"},
		{"a > 6.5 && a < 7.5", "true"},
		{"x >= 2 && y <= 0", "true"},
		{"s == 'h\\u00e9llo'", "true"},
		{"s < 'i'", "true"},
		{"size(s)", "5"},
		{"s.contains('ll') && s.startsWith('h') && !s.endsWith('h')", "true"},
		{"s.matches('^h.l+o$')", "true"},
		{"s.matches('L')", "false"},
		{"s + s", "héllohéllo"},
		{"a in [1, 7, -3]", "true"},
		{"s in ['hello', 'x']", "false"},
		{"x in [2.5]", "true"},
		{"ok in [false]", "false"},
		{"a in []", "false"},
		{"ok ? a : b", "7"},
		{"!ok ? 'yes' : s", "héllo"},
		{"t > timestamp('2018-01-31T00:00:00+02:00')", "true"},
		{"t == timestamp('2018-01-31T23:30:00.250Z')", "true"},
		{"t in [timestamp('2018-01-31T23:30:00.250Z')]", "true"},
		{"t + duration('1h30m')", "1517446800250"},
		{"t - duration('250ms')", "1517441400000"},
		{"(t - timestamp('2018-01-31T00:00:00Z')).getMinutes()", "1410"},
		{"t - timestamp('2018-01-31T00:00:00Z') > duration('23h')", "true"},
		{"(duration('90s') + duration('1m')).getSeconds()", "150"},
		{"int(t)", "1517441400"},
		{"t.getFullYear() * 10000 + (t.getMonth() + 1) * 100 + t.getDate()", "20180131"},
		{"t.getHours()", "23"},
		{"t.getHours('Asia/Shanghai')", "7"},
		{"t.getDate('Asia/Shanghai')", "1"},
		{"t.getDayOfWeek()", "3"},
		{"t.getDayOfYear() + t.getDayOfMonth()", "60"},
		{"t.getMilliseconds() + t.getSeconds() + t.getMinutes()", "280"},
		{"true ? 1 : 1 / 0", "1"},
		{"false && 1 / 0 == 1", "false"},
		{"1 / 0 == 1 && false", "false"},
		{"true || 1 / 0 == 1", "true"},
		{"1 / 0 == 1 || true", "true"},
		{"int(timestamp('1969-12-31T23:59:59.999Z'))", "-1"},
	} {
		if got := eval(t, c.expr, one); got != c.want {
			t.Errorf("%s is %s, want %s", c.expr, got, c.want)
		}
	}
}

func TestNulls(t *testing.T) {
	for _, c := range []struct{ expr, want string }{
		{"a == null", "true"},
		{"null == s", "true"},
		{"t != null", "false"},
		{"a == b", "true"}, // null is one value
		{"a == 1", "false"},
		{"a != 1", "true"},
		{"x == 0.0", "false"},
		{"null == null", "true"},
		{"a < 1", "false"},
		{"a >= 1", "false"},
		{"!(a < 1)", "true"},
		{"a < 1.5", "false"},
		{"s >= ''", "false"},
		{"t < timestamp('2018-01-01T00:00:00Z')", "false"},
		{"ok < true", "false"},
		{"a + 1", "null"},
		{"1 / a", "null"}, // not a division by zero
		{"5 % a", "null"},
		{"-a", "null"},
		{"x * 2.0", "null"},
		{"-x", "null"},
		{"s + 'x'", "null"},
		{"size(s)", "null"},
		{"string(a)", "null"},
		{"int(s)", "null"},
		{"double(a)", "null"},
		{"t + duration('1s')", "null"},
		{"t.getHours()", "null"},
		{"s.contains('')", "false"},
		{"s.matches('')", "false"},
		{"a in [0, 1]", "false"},
		{"a in [1, null]", "true"},
		{"ok", "null"},
		{"ok && true", "false"},
		{"ok || true", "true"},
		{"!ok", "true"},
		{"ok ? 1 : 2", "2"},
		{"true ? a : b", "null"},
		{"a == null ? 0 : 1 / a", "0"},
		{"true ? t : null", "null"},
	} {
		if got := eval(t, c.expr, null); got != c.want {
			t.Errorf("%s is %s, want %s", c.expr, got, c.want)
		}
	}
	if got := eval(t, "ok ? t : null", one); got != "1517441400250" {
		t.Errorf("the side that is not null: %s", got)
	}
}

func TestWhatHasNoAnswerIsRefused(t *testing.T) {
	big := one
	big[0], big[2], big[5] = int64(math.MaxInt64), math.MaxFloat64, strings.Repeat("x", 40_000)
	for _, c := range []struct{ expr, want string }{
		{"a + 1", "an integer leaves the range of int64"},
		{"-2 - a", "an integer leaves the range of int64"},
		{"a * 2", "an integer leaves the range of int64"},
		{"a * a", "an integer leaves the range of int64"},
		{"-(-a - 1)", "an integer leaves the range of int64"},
		{"(-a - 1) / -1", "an integer leaves the range of int64"},
		{"(-a - 1) % -1", "an integer leaves the range of int64"},
		{"a / (b + 2)", "division by zero"},
		{"a % 0", "division by zero"},
		{"x / 0.0", "division by zero"},
		{"x * 2.0", "a float64 becomes infinite, or is not a number"},
		{"int(x)", "an integer leaves the range of int64"},
		{"int('1.5')", "text that is not a number cannot be converted"},
		{"double('inf')", "text that is not a number cannot be converted"},
		{"s + s", "more than 65536 bytes of text"},
		{"ok ? a + 1 : 0", "an integer leaves the range of int64"},
		{"a + 1 > 0 && ok ? 1 : 2", "an integer leaves the range of int64"},
		{"(a / 0 == 1 || !ok) ? 1 : 2", "division by zero"},
		{"a / 0 == a + 1 ? 1 : 2", "division by zero"}, // the first of two reasons
		{"t + duration('2562047h') + duration('2562047h') > t ? size(string(t)) / 0 : 1", "division by zero"},
	} {
		if got := eval(t, c.expr, big); got != "v: "+c.want {
			t.Errorf("%s gives %s, want %s", c.expr, got, c.want)
		}
	}
}

func TestProblems(t *testing.T) {
	for _, c := range []struct{ expr, want string }{
		{"amount > 1", "column 1: there is no field or function amount; fields: a, b, x, y, ok, s, t, user.id"},
		{"a > 1 && now() > 2", "column 13: there is no field or function now; fields: a, b, x, y, ok, s, t, user.id"},
		{"x * 2", "column 3: * does not take (float64, int64); make them one type: write 2.0 for 2, or use double(…) or int(…)"},
		{"a == x", "column 3: == does not take (int64, float64); make them one type: write 2.0 for 2, or use double(…) or int(…)"},
		{"a == s", "column 3: == does not take (int64, string)"},
		{"t - 5", "column 3: - does not take (timestamp, int64)"},
		{"ok ? a : s", "column 4: ? : does not take (bool, int64, string)"},
		{"a +", "column 4: syntax error: mismatched input '<EOF>'"},
		{"a > 1 &&\n  q", "line 2, column 3: there is no field or function q; fields: a, b, x, y, ok, s, t, user.id"},
		{"a.b", "column 2: type 'int64' does not support field selection"},
		{"a == 1u", "column 3: == does not take (int64, uint)"},
		{"[1, 2]", "column 1: a list can only stand behind in"},
		{"[1, 2].map(i, i + 1) == [2]", "column 11: there is no field or function map; fields: a, b, x, y, ok, s, t, user.id"},
		{"{1: 2}", "column 1: maps and messages are not available"},
		{"a in [b]", "column 7: the list behind in holds constants only"},
		{"a in [1, 2.0]", "column 10: the list is searched for int64 and holds float64"},
		{"s.matches(s)", "column 11: matches takes a text that is written out here, not one that is computed"},
		{"s.matches('(')", "column 11: error parsing regexp: missing closing ): `(`"},
		{"timestamp('yesterday')", `column 11: "yesterday" is not a time of RFC 3339 in whole milliseconds, such as 2018-01-31T00:00:00Z`},
		{"timestamp('2018-01-31T00:00:00.0001Z')", `column 11: "2018-01-31T00:00:00.0001Z" is not a time of RFC 3339 in whole milliseconds, such as 2018-01-31T00:00:00Z`},
		{"t + duration('1d')", `column 14: "1d" is not a duration in whole milliseconds, such as 1h30m`},
		{"t.getHours('Mars/Base')", `column 12: "Mars/Base" is not the name of a time zone, such as Europe/Berlin`},
		{"t - t", "a column cannot be duration; take getMilliseconds() or getSeconds() of it"},
		{"null", "a column cannot be null"},
		{"t < null", "column 3: null can be compared with == and !=, and be one side of ? :"},
		{"ok ? null : null", "column 4: null can be compared with == and !=, and be one side of ? :"},
		{"bytes(s) == b'a'", "column 6: bytes of string is not available; functions: contains, double, duration, endsWith, int, matches, size, startsWith, string, timestamp, and getHours and the like"},
		{" ", "the expression is empty"},
		{strings.Repeat("ok&&", 300) + "ok", "the expression has more than 256 fields, values and operators"},
		{strings.Repeat("a+", 300) + "a", "max recursion depth exceeded"},
		{strings.Repeat("a", 4097), "column 1: expression code point size exceeds limit: size: 4097, limit 4096"},
		{strings.Repeat("(", 200) + "a" + strings.Repeat(")", 200), "column 1: expression recursion limit exceeded: 100"},
	} {
		_, err := New(Config{Schema: schema, Derive: []Derived{{"v", c.expr}}})
		got := strings.TrimPrefix(strings.TrimPrefix(fmt.Sprint(err), "derive.v, "), "derive.v: ")
		if !strings.HasSuffix(got, c.want) {
			t.Errorf("%.60q\ngot  %s\nwant %s", c.expr, got, c.want)
		}
	}
}
