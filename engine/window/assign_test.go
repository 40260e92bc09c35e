package window_test

import (
	"testing"
	"time"
	_ "time/tzdata" // the zones of the table, on every machine

	"tidemark/engine/stream"
	"tidemark/engine/window"
)

// Days in a zone have the length that its clocks give them (S33); at the ends of time they
// end with it. The expected instants are those of date(1), in ms; those at the ends of time are whole multiples of a day.
func TestDays(t *testing.T) {
	for _, c := range []struct {
		zone           string
		at, start, end stream.Time
	}{
		{"UTC", 0, 0, 86_400_000},
		{"UTC", -1, -86_400_000, 0},
		{"Asia/Shanghai", 0, -28_800_000, 57_600_000},
		{"Europe/Berlin", 1711850400_000, 1711839600_000, 1711922400_000},     // 2024-03-31, 23 hours
		{"Europe/Berlin", 1729980000_000, 1729980000_000, 1730070000_000},     // 2024-10-27, 25 hours
		{"America/Sao_Paulo", 1541300400_000, 1541300400_000, 1541383200_000}, // 2018-11-04 begins at 01:00
		{"UTC", stream.MaxTime, 9223372036828800000, stream.MaxTime},
		{"Asia/Shanghai", stream.MaxTime, 9223372036800000000, stream.MaxTime},
		{"UTC", stream.MinTime + 1, stream.MinTime, -9223372036828800000},
	} {
		zone, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		got, err := window.NewDay(zone).Assign(nil, c.at, 0, 0)
		if want := (stream.Window{Start: c.start, End: c.end}); err != nil || len(got) != 1 || got[0] != want {
			t.Errorf("%s at %d: got %v, %v, want %v", c.zone, c.at, got, err, want)
		}
	}
}
