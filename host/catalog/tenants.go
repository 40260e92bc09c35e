package catalog

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"tidemark/host/tenant"
	"tidemark/internal/fault"
)

// CreateTenant records a tenant. ErrConflict: there is one by that name.
func (c *Catalog) CreateTenant(ctx context.Context, id tenant.ID, now time.Time) error {
	return c.change(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO tenants (id, created_ms) VALUES (?, ?)`, id, millis(now))
		if taken(err) {
			return fault.Conflictf("tenant %s exists", id)
		}
		return err
	})
}

// Tenants returns all tenants, by name.
func (c *Catalog) Tenants(ctx context.Context) ([]tenant.ID, error) {
	return query(ctx, c.read, func(rows *sql.Rows) (id tenant.ID, err error) {
		return id, rows.Scan(&id)
	}, `SELECT id FROM tenants ORDER BY id`)
}

// AddToken records a token of a tenant. ErrUnknown: no such tenant. ErrQuota: it has
// quota.Tokens already.
func (c *Catalog) AddToken(ctx context.Context, id tenant.ID, t tenant.Stored, quota tenant.Quota, now time.Time) error {
	return c.change(ctx, func(tx *sql.Tx) error {
		var known, used int64
		if err := tx.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM tenants WHERE id = ?1), (SELECT count(*) FROM tokens WHERE tenant = ?1)`,
			id).Scan(&known, &used); err != nil {
			return err
		}
		if known == 0 {
			return fault.Unknownf("no tenant %s", id)
		}
		if err := tenant.Charge("tokens", used, 1, int64(quota.Tokens)); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO tokens (id, tenant, hash, created_ms) VALUES (?, ?, ?, ?)`, t.ID, id, t.Hash[:], millis(now))
		return err
	})
}

// Token finds what is stored of a token, and whose it is. ErrUnknown: no such token.
func (c *Catalog) Token(ctx context.Context, tokenID string) (tenant.ID, tenant.Stored, error) {
	var (
		id   tenant.ID
		hash []byte
	)
	err := c.read.QueryRowContext(ctx, `SELECT tenant, hash FROM tokens WHERE id = ?`, tokenID).Scan(&id, &hash)
	if errors.Is(err, sql.ErrNoRows) {
		return "", tenant.Stored{}, fault.Unknownf("no such token")
	}
	if err != nil {
		return "", tenant.Stored{}, external(err)
	}
	t := tenant.Stored{ID: tokenID}
	if copy(t.Hash[:], hash) != len(t.Hash) {
		return "", tenant.Stored{}, fault.Corruptf("token %s: hash of %d bytes", tokenID, len(hash))
	}
	return id, t, nil
}

// query runs a statement and scans each of its rows.
func query[T any](ctx context.Context, db *sql.DB, scan func(*sql.Rows) (T, error), stmt string, args ...any) (out []T, err error) {
	rows, err := db.QueryContext(ctx, stmt, args...)
	if err != nil {
		return nil, external(err)
	}
	defer func() {
		if cerr := rows.Close(); err == nil {
			err = external(cerr)
		}
	}()
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, external(err)
		}
		out = append(out, v)
	}
	return out, external(rows.Err())
}
