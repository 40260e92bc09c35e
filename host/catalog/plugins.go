package catalog

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"tidemark/host/tenant"
	"tidemark/internal/fault"
)

// Plugin is a module that a tenant has uploaded. Its bytes are a file that the
// registry keeps.
type Plugin struct {
	Name     string // as its manifest has it
	Version  string
	Digest   string // SHA-256 of the module in hex
	Size     int64  // bytes
	Manifest []byte // JSON, as it stands in the module
	Created  time.Time
}

const pluginColumns = `name, version, digest, size, manifest, created_ms`

func scanPlugin(scan func(...any) error) (p Plugin, err error) {
	var created int64
	err = scan(&p.Name, &p.Version, &p.Digest, &p.Size, &p.Manifest, &created)
	p.Created = instant(created)
	return p, err
}

// AddPlugin records a module. The same module again changes nothing, and created is
// false then. ErrConflict: another module has this name and version. ErrQuota: it
// would be one too many, or too large.
func (c *Catalog) AddPlugin(ctx context.Context, id tenant.ID, p Plugin, quota tenant.Quota) (kept Plugin, created bool, err error) {
	err = c.change(ctx, func(tx *sql.Tx) error {
		old, err := scanPlugin(tx.QueryRowContext(ctx, `SELECT `+pluginColumns+` FROM plugins WHERE tenant = ? AND (digest = ? OR (name = ? AND version = ?))`,
			id, p.Digest, p.Name, p.Version).Scan)
		if err == nil {
			if old.Digest != p.Digest {
				return fault.Conflictf("plug-in %s@%s is another module already (sha256:%s): give this one a new version", p.Name, p.Version, old.Digest)
			}
			kept = old
			return nil
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		var n, size int64
		if err := tx.QueryRowContext(ctx, `SELECT count(*), coalesce(sum(size), 0) FROM plugins WHERE tenant = ?`, id).Scan(&n, &size); err != nil {
			return err
		}
		if err := tenant.Charge("plug-ins", n, 1, int64(quota.Plugins)); err != nil {
			return err
		}
		if err := tenant.Charge("plug-in bytes", size, p.Size, quota.PluginBytes); err != nil {
			return err
		}
		kept, created = p, true
		_, err = tx.ExecContext(ctx, `INSERT INTO plugins (tenant, `+pluginColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			id, p.Name, p.Version, p.Digest, p.Size, string(p.Manifest), millis(p.Created))
		return err
	})
	return kept, created, err
}

// Plugins returns a tenant's modules by name, the newest version of each first.
func (c *Catalog) Plugins(ctx context.Context, id tenant.ID) ([]Plugin, error) {
	return query(ctx, c.read, func(rows *sql.Rows) (Plugin, error) { return scanPlugin(rows.Scan) },
		`SELECT `+pluginColumns+` FROM plugins WHERE tenant = ? ORDER BY name, created_ms DESC, version`, id)
}

// PluginByName finds name@version. ErrUnknown: the tenant has none.
func (c *Catalog) PluginByName(ctx context.Context, id tenant.ID, name, version string) (Plugin, error) {
	return c.plugin(ctx, name+"@"+version, `tenant = ? AND name = ? AND version = ?`, id, name, version)
}

// PluginByDigest finds a module by the SHA-256 of its bytes in hex. ErrUnknown: the
// tenant has none, even where another has.
func (c *Catalog) PluginByDigest(ctx context.Context, id tenant.ID, digest string) (Plugin, error) {
	return c.plugin(ctx, "sha256:"+digest, `tenant = ? AND digest = ?`, id, digest)
}

func (c *Catalog) plugin(ctx context.Context, ref, where string, args ...any) (Plugin, error) {
	p, err := scanPlugin(c.read.QueryRowContext(ctx, `SELECT `+pluginColumns+` FROM plugins WHERE `+where, args...).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return Plugin{}, fault.Unknownf("no plug-in %s", ref)
	}
	return p, external(err)
}
