package timestamp

import (
	"strings"
	"time"

	"tidemark/engine/stream"
	"tidemark/internal/fault"
)

// layout reads text by a Go layout.
type layout struct {
	layout string
	zone   *time.Location
	// local: the text is the wall clock of zone. Otherwise it has an offset, or the
	// zone is UTC.
	local bool
}

func newLayout(text, zone string) (*layout, error) {
	if text == "" {
		return nil, fault.Userf("unit layout needs a layout")
	}
	loc, err := time.LoadLocation(zone) // "" is UTC
	if err != nil || zone == "Local" {
		return nil, fault.Userf("unknown zone %q, say for example Europe/Berlin or UTC", zone)
	}
	if strings.Contains(text, "MST") {
		return nil, fault.Userf("layout %q reads a zone's abbreviation, which does not say the offset: use an offset (Z07:00) or set zone", text)
	}
	// Write a date and read it back: what is lost would be lost of every record.
	east := time.FixedZone("", 2*60*60)
	sample := time.Date(2019, 11, 23, 17, 48, 39, 0, east)
	written := sample.Format(text)
	read, err := time.Parse(text, written)
	switch {
	case err != nil:
		return nil, fault.Userf("layout %q does not read what it writes, %q: %v", text, written, err)
	case written == text:
		return nil, fault.Userf("layout %q holds no part of a date, write it as Monday, 2 January 2006, 15:04:05 would be written", text)
	case read.Year() != 2019:
		return nil, fault.Userf("layout %q has no year", text)
	}
	hasOffset := read.UTC().Hour() == 15
	if hour := read.Hour(); !hasOffset && hour != 17 && hour != 0 {
		return nil, fault.Userf("layout %q has hours up to 12 without PM", text)
	}
	if hasOffset && zone != "" && zone != "UTC" {
		return nil, fault.Userf("layout %q reads an offset, so zone %s has no effect", text, zone)
	}
	return &layout{text, loc, !hasOffset && loc != time.UTC}, nil
}

// parse reads text. Of a local time that comes twice the first is meant; one that
// a zone skips does not exist.
func (l *layout) parse(text []byte) (stream.Time, string) {
	wall, err := time.Parse(l.layout, string(text))
	if err != nil {
		return 0, "does not follow the layout " + l.layout
	}
	if !l.local {
		return stream.Time(wall.UnixMilli()), ""
	}
	t := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), wall.Nanosecond(), l.zone)
	if t.Hour() != wall.Hour() || t.Minute() != wall.Minute() {
		return 0, "the clocks of " + l.zone.String() + " skip this time"
	}
	// If the offset in force before the present one also gives an instant in its
	// own time, that one is the first.
	if start, _ := t.ZoneBounds(); !start.IsZero() {
		_, before := start.Add(-1).Zone()
		if first := wall.Add(-time.Duration(before) * time.Second); first.Before(start) {
			t = first
		}
	}
	return stream.Time(t.UnixMilli()), ""
}
