// Package catalog is the host's memory: tenants, tokens, plug-ins and jobs in one
// embedded SQLite database. It stores and finds, and charges the quotas that count
// what is stored; it decides nothing else and starts no goroutine. Modules and
// results are files beside it.
//
// Every method may be called from any goroutine. A method that changes something
// returns after the change is durable (WAL, synchronous=FULL). Errors are of class
// ErrUnknown, ErrConflict or ErrQuota as each method says; whatever else SQLite
// reports is ErrExternal.
package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"tidemark/internal/env"
	"tidemark/internal/fault"
)

const (
	// fileName holds the database, below the host's data directory.
	fileName = "catalog.sqlite"
	// lockName is a database without content: whoever holds its lock is the host of
	// this directory. A lock of SQLite's vanishes with its process, so that a crash
	// leaves nothing to clean up.
	lockName = "serve.lock"
	// busyTimeout is how long a writer waits for one in another process (`tenant
	// create` beside a running host); a commit takes about 2 ms.
	busyTimeout = 5 * time.Second
	// readers is how many queries may run beside the one writer.
	readers = 4
)

// schema makes version 1 of the database. A later version appends statements and
// leaves these alone, since they are what old files were made with.
var schema = []string{`
CREATE TABLE tenants (
	id         TEXT PRIMARY KEY,
	created_ms INTEGER NOT NULL
) STRICT;
CREATE TABLE tokens (
	id         TEXT PRIMARY KEY,
	tenant     TEXT NOT NULL REFERENCES tenants(id),
	hash       BLOB NOT NULL,
	created_ms INTEGER NOT NULL
) STRICT;
CREATE TABLE plugins (
	tenant     TEXT NOT NULL REFERENCES tenants(id),
	name       TEXT NOT NULL,
	version    TEXT NOT NULL,
	digest     TEXT NOT NULL,
	size       INTEGER NOT NULL,
	manifest   TEXT NOT NULL,
	created_ms INTEGER NOT NULL,
	PRIMARY KEY (tenant, name, version)
) STRICT;
CREATE UNIQUE INDEX plugins_digest ON plugins (tenant, digest);
CREATE TABLE jobs (
	tenant     TEXT NOT NULL REFERENCES tenants(id),
	id         TEXT NOT NULL,
	name       TEXT NOT NULL,
	yaml       BLOB NOT NULL,
	state      TEXT NOT NULL,
	message    TEXT NOT NULL,
	outputs    TEXT NOT NULL,
	report     TEXT NOT NULL,
	created_ms INTEGER NOT NULL,
	started_ms INTEGER NOT NULL,
	ended_ms   INTEGER NOT NULL,
	PRIMARY KEY (tenant, id)
) STRICT;
`}

// Catalog is an open database. Two processes may have the same one open.
type Catalog struct {
	write *sql.DB // one connection: SQLite has one writer
	read  *sql.DB
}

// Open opens the catalogue of a data directory and makes both if they are not there.
func Open(ctx context.Context, dir string, e env.Env) (*Catalog, error) {
	if err := e.FS.MkdirAll(dir, 0o700); err != nil {
		return nil, fault.As(fault.ErrExternal, fmt.Errorf("data directory: %w", err))
	}
	path := filepath.Join(dir, fileName)
	c := &Catalog{}
	var err error
	if c.write, err = open(path, 1, "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)"); err != nil {
		return nil, err
	}
	if err := c.migrate(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("catalogue %s: %w", path, err), c.write.Close())
	}
	if c.read, err = open(path, readers, "query_only(1)"); err != nil {
		return nil, errors.Join(err, c.write.Close())
	}
	return c, nil
}

// open makes a pool of connections to one database file. Nothing is read yet.
func open(path string, conns int, pragmas ...string) (*sql.DB, error) {
	q := url.Values{"_txlock": {"immediate"}}
	for _, p := range append(pragmas, fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds())) {
		q.Add("_pragma", p)
	}
	name := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path), RawQuery: q.Encode()}
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return nil, fault.As(fault.ErrExternal, err)
	}
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	return db, nil
}

// Close ends all use of the database.
func (c *Catalog) Close() error {
	return fault.As(fault.ErrExternal, errors.Join(c.read.Close(), c.write.Close()))
}

// Ping reports whether the database answers.
func (c *Catalog) Ping(ctx context.Context) error {
	var n int
	return external(c.read.QueryRowContext(ctx, `SELECT count(*) FROM tenants`).Scan(&n))
}

// Lock makes the caller the only host of a data directory until release is called
// or the process ends. ErrConflict: there is one already.
func Lock(ctx context.Context, dir string) (release func() error, err error) {
	db, err := open(filepath.Join(dir, lockName), 1)
	if err != nil {
		return nil, err
	}
	conn, err := db.Conn(ctx)
	if err == nil {
		// The lock is asked for once: a host that runs will not go away in a moment.
		if _, err = conn.ExecContext(ctx, `PRAGMA busy_timeout = 0`); err == nil {
			_, err = conn.ExecContext(ctx, `BEGIN EXCLUSIVE`)
		}
	}
	if err != nil {
		cerr := db.Close()
		if is(err, sqlite3.SQLITE_BUSY) {
			return nil, fault.Conflictf("data directory %s: another host is running on it", dir)
		}
		return nil, errors.Join(external(err), cerr)
	}
	return func() error { return errors.Join(conn.Close(), db.Close()) }, nil
}

// migrate brings the database to the newest schema.
func (c *Catalog) migrate(ctx context.Context) error {
	return c.change(ctx, func(tx *sql.Tx) error {
		var version int
		if err := tx.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&version); err != nil {
			return err
		}
		if version > len(schema) {
			return fault.Userf("made by a newer Tidemark (schema %d, this one knows %d)", version, len(schema))
		}
		for _, s := range schema[version:] {
			if _, err := tx.ExecContext(ctx, s); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, fmt.Sprintf(`PRAGMA user_version = %d`, len(schema)))
		return err
	})
}

// change runs f in the one writer's transaction.
func (c *Catalog) change(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := c.write.BeginTx(ctx, nil)
	if err != nil {
		return external(err)
	}
	if err := f(tx); err != nil {
		if rerr := tx.Rollback(); rerr != nil && !errors.Is(rerr, sql.ErrTxDone) {
			err = errors.Join(err, rerr)
		}
		return external(err)
	}
	return external(tx.Commit())
}

// external gives an error that has no class yet the one of the database, and leaves
// the end of a context as it is.
func external(err error) error {
	for _, class := range []error{fault.ErrUser, fault.ErrUnknown, fault.ErrConflict, fault.ErrQuota, fault.ErrExternal, fault.ErrCorrupt,
		context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, class) {
			return err
		}
	}
	if is(err, sqlite3.SQLITE_CORRUPT) || is(err, sqlite3.SQLITE_NOTADB) {
		return fault.As(fault.ErrCorrupt, err)
	}
	return fault.As(fault.ErrExternal, err)
}

// is reports whether err is SQLite's with this primary result code.
func is(err error, code int) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xFF == code
}

// taken reports whether err says that a unique name is in use.
func taken(err error) bool { return is(err, sqlite3.SQLITE_CONSTRAINT) }

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func instant(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
