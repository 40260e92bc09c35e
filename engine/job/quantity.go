package job

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

var (
	errNoUnit = errors.New("no unit")
	errSyntax = errors.New("not understood")
)

// ParseDuration reads a duration with units, as job files have them: 10s, 5m, 1h30m,
// 200ms, 2d, -1h. The error is errNoUnit or errSyntax.
func ParseDuration(s string) (time.Duration, error) {
	const day = 24 * time.Hour
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return 0, errNoUnit
	}
	rest, neg := strings.CutPrefix(s, "-")
	var sum time.Duration
	if days, after, ok := strings.Cut(rest, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 63)
		if err != nil || n > uint64(math.MaxInt64/day) {
			return 0, errSyntax
		}
		if sum, rest = time.Duration(n)*day, after; rest == "" {
			rest = "0s"
		}
	}
	d, err := time.ParseDuration(rest)
	if err != nil || d < 0 || rest[0] == '+' || rest[0] == '-' || sum > math.MaxInt64-d {
		return 0, errSyntax
	}
	if sum += d; neg {
		sum = -sum
	}
	return sum, nil
}

// FormatDuration writes a duration as a job file does: 6h, 1h30m, 200ms.
func FormatDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// sizeUnits are the units of sizes; only powers of 1024, so that nobody has to
// guess what a megabyte is.
var sizeUnits = [...]struct {
	name  string
	bytes int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"B", 1}}

// parseSize reads a size with a unit: 64MiB, 512KiB, 100B. The error is errNoUnit or
// errSyntax.
func parseSize(s string) (int64, error) {
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return 0, errNoUnit
	}
	for _, u := range sizeUnits {
		if digits, ok := strings.CutSuffix(s, u.name); ok {
			n, err := strconv.ParseUint(digits, 10, 63)
			if err != nil || int64(n) > math.MaxInt64/u.bytes {
				break
			}
			return int64(n) * u.bytes, nil
		}
	}
	return 0, errSyntax
}

// formatSize writes a size in the largest unit that divides it.
func formatSize(n int64) string {
	for i := 2; i >= 0; i-- {
		if u := sizeUnits[i]; n >= u.bytes && n%u.bytes == 0 {
			return fmt.Sprintf("%d%s", n/u.bytes, u.name)
		}
	}
	return fmt.Sprintf("%dB", n)
}
