package expr

import "time"

// Timestamps and durations are integers of milliseconds, so that their sums and
// orderings are those of integers. Here is what is not.

// appendInstant writes a timestamp as CEL does: RFC 3339 in UTC, with a fraction only
// where there is one.
func appendInstant(dst []byte, ms int64) []byte {
	return time.UnixMilli(ms).UTC().AppendFormat(dst, time.RFC3339Nano)
}

// calendar is a part of a timestamp in a time zone, such as getHours.
type calendar struct {
	out
	x    node
	zone *time.Location
	part func(time.Time) int
}

func (p *calendar) eval(c *chunk) *vector {
	x, n := p.x.eval(c), c.n()
	v := p.reset(n)
	p.strict(n, x)
	for i := range v.ints {
		if !p.skip(i) {
			v.ints[i] = int64(p.part(time.UnixMilli(x.ints[i]).In(p.zone)))
		}
	}
	return v
}

// calendarPart finds a part by CEL's name; months and days count from 0 but for getDate.
func calendarPart(name string) func(time.Time) int {
	switch name {
	case "getFullYear":
		return time.Time.Year
	case "getMonth":
		return func(t time.Time) int { return int(t.Month()) - 1 }
	case "getDate":
		return time.Time.Day
	case "getDayOfMonth":
		return func(t time.Time) int { return t.Day() - 1 }
	case "getDayOfWeek":
		return func(t time.Time) int { return int(t.Weekday()) }
	case "getDayOfYear":
		return func(t time.Time) int { return t.YearDay() - 1 }
	case "getHours":
		return time.Time.Hour
	case "getMinutes":
		return time.Time.Minute
	case "getSeconds":
		return time.Time.Second
	case "getMilliseconds":
		return func(t time.Time) int { return t.Nanosecond() / 1e6 }
	}
	return nil
}

// spanUnit is what a getter of a duration divides milliseconds by: 0 if there is none.
func spanUnit(name string) int64 {
	switch name {
	case "getHours":
		return 3_600_000
	case "getMinutes":
		return 60_000
	case "getSeconds":
		return 1000
	case "getMilliseconds":
		return 1
	}
	return 0
}
