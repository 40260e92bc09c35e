package timestamp

import (
	"errors"

	"tidemark/engine/stream"
)

const (
	whyShape = "not of the form 2006-01-02T15:04:05Z or 2006-01-02T15:04:05.000+01:00"
	whyDate  = "no such date"
	whyClock = "no such time of day"
	whyZone  = "no such offset"
)

// ParseRFC3339 reads a date and time with an offset, to the millisecond: further
// digits are cut off. T and Z may be lower case, and T a blank. A leap second (60)
// is refused: event time has no place for it.
func ParseRFC3339(text []byte) (stream.Time, error) {
	t, why := parseRFC3339(text)
	if why != "" {
		return 0, errors.New(why)
	}
	return t, nil
}

func parseRFC3339(p []byte) (stream.Time, string) {
	if len(p) < len("2006-01-02T15:04:05Z") || p[4] != '-' || p[7] != '-' || p[13] != ':' || p[16] != ':' ||
		p[10] != 'T' && p[10] != 't' && p[10] != ' ' {
		return 0, whyShape
	}
	century, ok0 := two(p, 0)
	year, ok1 := two(p, 2)
	month, ok2 := two(p, 5)
	day, ok3 := two(p, 8)
	hour, ok4 := two(p, 11)
	minute, ok5 := two(p, 14)
	second, ok6 := two(p, 17)
	if !(ok0 && ok1 && ok2 && ok3 && ok4 && ok5 && ok6) {
		return 0, whyShape
	}
	year += 100 * century
	if month < 1 || month > 12 || day < 1 || day > daysIn(year, month) {
		return 0, whyDate
	}
	if second == 60 {
		return 0, "a leap second has no event time"
	}
	if hour > 23 || minute > 59 || second > 59 {
		return 0, whyClock
	}
	p = p[19:]
	milli := int64(0)
	if p[0] == '.' {
		frac := digits(p[1:])
		if len(frac) == 0 {
			return 0, whyShape
		}
		p = p[1+len(frac):]
		for i := range 3 {
			milli *= 10
			if i < len(frac) {
				milli += int64(frac[i] - '0')
			}
		}
	}
	offset := int64(0)
	switch {
	case len(p) == 1 && p[0]|0x20 == 'z':
	case len(p) == 6 && (p[0] == '+' || p[0] == '-') && p[3] == ':':
		h, ok0 := two(p, 1)
		m, ok1 := two(p, 4)
		if !ok0 || !ok1 {
			return 0, whyShape
		}
		if h > 23 || m > 59 {
			return 0, whyZone
		}
		offset = h*60 + m
		if p[0] == '-' {
			offset = -offset
		}
	default:
		return 0, whyShape
	}
	minutes := (daysSince1970(year, month, day)*24+hour)*60 + minute - offset
	return stream.Time((minutes*60+second)*1000 + milli), ""
}

// two reads two digits.
func two(p []byte, i int) (int64, bool) {
	a, b := p[i]-'0', p[i+1]-'0'
	return int64(a)*10 + int64(b), a <= 9 && b <= 9
}

func daysIn(year, month int64) int64 {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

// daysSince1970 counts days in the Gregorian calendar, for years from 0 on. With
// years that begin in March the leap day is the last of its year, and the months
// before a month have (153 m + 2) / 5 days.
func daysSince1970(year, month, day int64) int64 {
	if month <= 2 {
		year--
		month += 12
	}
	year += 400 // year -1 counts as well, and division truncates
	days := 365*year + year/4 - year/100 + year/400 + (153*(month-3)+2)/5 + day - 1
	const epoch = 719468 + 146097 // days from 1 March of year -400 to 1 January 1970
	return days - epoch
}
