package tenant

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"strings"

	"tidemark/internal/fault"
)

// A token is "tmk_", 16 hex digits that find its record, "_", and 256 random bits
// in base64url. The host stores the SHA-256 of the whole: with that many random
// bits a slow hash would protect nothing more.
const (
	tokenPrefix  = "tmk_"
	tokenIDBytes = 8
	secretBytes  = 32
)

// Stored is what the host keeps of a token.
type Stored struct {
	ID   string
	Hash [sha256.Size]byte
}

// NewToken makes a token; text is shown once and kept nowhere.
func NewToken(rand io.Reader) (text string, stored Stored, err error) {
	var raw [tokenIDBytes + secretBytes]byte
	if _, err := io.ReadFull(rand, raw[:]); err != nil {
		return "", Stored{}, fault.As(fault.ErrExternal, fmt.Errorf("token: %w", err))
	}
	id := hex.EncodeToString(raw[:tokenIDBytes])
	text = tokenPrefix + id + "_" + base64.RawURLEncoding.EncodeToString(raw[tokenIDBytes:])
	return text, Stored{ID: id, Hash: sha256.Sum256([]byte(text))}, nil
}

// TokenID returns the id within a presented token; ok is false if text does not
// have the form of a token.
func TokenID(text string) (id string, ok bool) {
	rest, ok := strings.CutPrefix(text, tokenPrefix)
	if !ok {
		return "", false
	}
	id, secret, ok := strings.Cut(rest, "_")
	if !ok || len(id) != 2*tokenIDBytes || len(secret) != base64.RawURLEncoding.EncodedLen(secretBytes) {
		return "", false
	}
	return id, true
}

// Matches compares a presented token in constant time.
func (s Stored) Matches(text string) bool {
	hash := sha256.Sum256([]byte(text))
	return subtle.ConstantTimeCompare(hash[:], s.Hash[:]) == 1
}
