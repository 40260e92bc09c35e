package catalog

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"regexp"
	"strings"
	"time"

	"tidemark/host/tenant"
	"tidemark/internal/fault"
)

// JobID names a job of a tenant. It is a directory name and part of URLs.
type JobID string

var jobIDRule = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)

// ParseJobID checks s.
func ParseJobID(s string) (JobID, error) {
	if !jobIDRule.MatchString(s) {
		return "", fault.Userf("job id %q: an id has 1 to 63 of a-z, 0-9, - and _, and begins with a letter or digit", s)
	}
	return JobID(s), nil
}

// Job is what is remembered of a job.
type Job struct {
	Tenant  tenant.ID
	ID      JobID
	Name    string // as the job file has it
	YAML    []byte
	State   string // one of the controller's states
	Message string // why it ended, for its owner
	Outputs []byte // JSON: what it writes, and where; the controller's
	Report  []byte // JSON: the last report of the engine; the controller's
	Created time.Time
	Started time.Time // zero: never
	Ended   time.Time // zero: not yet
}

const jobColumns = `tenant, id, name, yaml, state, message, outputs, report, created_ms, started_ms, ended_ms`

func scanJob(scan func(...any) error) (j Job, err error) {
	var created, started, ended int64
	err = scan(&j.Tenant, &j.ID, &j.Name, &j.YAML, &j.State, &j.Message, &j.Outputs, &j.Report, &created, &started, &ended)
	j.Created, j.Started, j.Ended = instant(created), instant(started), instant(ended)
	return j, err
}

// AddJob records a new job. If there is one with the same id and the same file, that
// one is returned and created is false: a client that got no answer asks again.
// ErrConflict: the id is taken by another file. ErrQuota: one too many, where alive
// are the states that count as running.
func (c *Catalog) AddJob(ctx context.Context, j Job, alive []string, quota tenant.Quota) (kept Job, created bool, err error) {
	err = c.change(ctx, func(tx *sql.Tx) error {
		old, err := scanJob(tx.QueryRowContext(ctx, `SELECT `+jobColumns+` FROM jobs WHERE tenant = ? AND id = ?`, j.Tenant, j.ID).Scan)
		if err == nil {
			if !bytes.Equal(old.YAML, j.YAML) {
				return fault.Conflictf("job %s exists with another job file", j.ID)
			}
			kept = old
			return nil
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		var all, running int64
		if err := tx.QueryRowContext(ctx, `SELECT count(*), count(*) FILTER (WHERE state IN (`+places(len(alive))+`)) FROM jobs WHERE tenant = ?`,
			append(anys(alive), j.Tenant)...).Scan(&all, &running); err != nil {
			return err
		}
		if err := tenant.Charge("jobs", all, 1, int64(quota.Jobs)); err != nil {
			return err
		}
		if err := tenant.Charge("running jobs", running, 1, int64(quota.Running)); err != nil {
			return err
		}
		kept, created = j, true
		_, err = tx.ExecContext(ctx, `INSERT INTO jobs (`+jobColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			j.Tenant, j.ID, j.Name, j.YAML, j.State, j.Message, string(j.Outputs), string(j.Report), millis(j.Created), millis(j.Started), millis(j.Ended))
		return err
	})
	return kept, created, err
}

// places returns n parameters for a list.
func places(n int) string { return strings.TrimSuffix(strings.Repeat("?, ", n), ", ") }

// anys is list as arguments of a statement.
func anys(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}

// UpdateJob writes what changes in a job's life: its name and file, state, message, outputs,
// report and the times. ErrUnknown: it is not there.
func (c *Catalog) UpdateJob(ctx context.Context, j Job) error {
	return c.change(ctx, func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, `UPDATE jobs SET name = ?, yaml = ?, state = ?, message = ?, outputs = ?, report = ?, started_ms = ?, ended_ms = ? WHERE tenant = ? AND id = ?`,
			j.Name, j.YAML, j.State, j.Message, string(j.Outputs), string(j.Report), millis(j.Started), millis(j.Ended), j.Tenant, j.ID)
		return touched(res, err, j.ID)
	})
}

// DeleteJob forgets a job. ErrUnknown: it is not there.
func (c *Catalog) DeleteJob(ctx context.Context, id tenant.ID, job JobID) error {
	return c.change(ctx, func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, `DELETE FROM jobs WHERE tenant = ? AND id = ?`, id, job)
		return touched(res, err, job)
	})
}

func touched(res sql.Result, err error, id JobID) error {
	if err != nil {
		return err
	}
	n, err := res.RowsAffected()
	if err == nil && n == 0 {
		return fault.Unknownf("no job %s", id)
	}
	return err
}

// Job finds a job. ErrUnknown: the tenant has none by this id.
func (c *Catalog) Job(ctx context.Context, id tenant.ID, job JobID) (Job, error) {
	j, err := scanJob(c.read.QueryRowContext(ctx, `SELECT `+jobColumns+` FROM jobs WHERE tenant = ? AND id = ?`, id, job).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return Job{}, fault.Unknownf("no job %s", job)
	}
	return j, external(err)
}

// Jobs returns a tenant's jobs, the newest first.
func (c *Catalog) Jobs(ctx context.Context, id tenant.ID) ([]Job, error) {
	return query(ctx, c.read, func(rows *sql.Rows) (Job, error) { return scanJob(rows.Scan) },
		`SELECT `+jobColumns+` FROM jobs WHERE tenant = ? ORDER BY created_ms DESC, id`, id)
}

// JobsIn returns the jobs of all tenants that are in one of the states.
func (c *Catalog) JobsIn(ctx context.Context, states []string) ([]Job, error) {
	return query(ctx, c.read, func(rows *sql.Rows) (Job, error) { return scanJob(rows.Scan) },
		`SELECT `+jobColumns+` FROM jobs WHERE state IN (`+places(len(states))+`) ORDER BY tenant, created_ms, id`, anys(states)...)
}
