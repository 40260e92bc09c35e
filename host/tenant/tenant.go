// Package tenant says who a tenant is, how one proves it and what it may use. It
// decides and computes only: no clock, no files, no goroutine. The catalogue stores
// what it makes, the controller and the registry charge its quotas.
package tenant

import (
	"regexp"

	"tidemark/internal/fault"
)

// ID names a tenant. It is a directory below the host's data and a label of its
// metrics, hence the narrow alphabet.
type ID string

var idRule = regexp.MustCompile(`^[a-z][a-z0-9-]{0,39}$`)

// ParseID checks s.
func ParseID(s string) (ID, error) {
	if !idRule.MatchString(s) {
		return "", fault.Userf("tenant %q: a name has 1 to 40 of a-z, 0-9 and -, and begins with a letter", s)
	}
	return ID(s), nil
}
