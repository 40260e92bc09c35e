// Package registry keeps the plug-ins of all tenants: who has which is in the
// catalogue, the modules are files named by their SHA-256 and shared by all who
// uploaded the same bytes. A module is checked before it is kept, by reading and by
// compiling it: nothing of it runs here.
//
//	plugins/ab/abcdef….wasm     one file a module, never changed after its name
//	plugins/tmp-…               an upload that has not got there; removed at start
package registry

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"tidemark/abi"
	"tidemark/abi/binary"
	"tidemark/host/catalog"
	"tidemark/host/tenant"
	"tidemark/internal/env"
	"tidemark/internal/fault"
)

// Registry is safe for concurrent use.
type Registry struct {
	dir   string
	cat   *catalog.Catalog
	env   env.Env
	quota tenant.Quota
	try   func(ctx context.Context, module []byte) error
}

const (
	tempPrefix = "tmp-"
	// MaxModuleBytes is the largest upload that is read.
	MaxModuleBytes = abi.MaxModuleBytes
)

// Open opens the store below a data directory and removes what a crash has left. try
// compiles a module, which reading has found nothing wrong with.
func Open(dataDir string, cat *catalog.Catalog, e env.Env, quota tenant.Quota, try func(ctx context.Context, module []byte) error) (*Registry, error) {
	r := &Registry{dir: filepath.Join(dataDir, "plugins"), cat: cat, env: e, quota: quota, try: try}
	if err := e.FS.MkdirAll(r.dir, 0o700); err != nil {
		return nil, fault.As(fault.ErrExternal, fmt.Errorf("plug-in store: %w", err))
	}
	entries, err := e.FS.ReadDir(r.dir)
	if err != nil {
		return nil, fault.As(fault.ErrExternal, fmt.Errorf("plug-in store: %w", err))
	}
	for _, f := range entries {
		if !strings.HasPrefix(f.Name(), tempPrefix) {
			continue
		}
		if err := e.FS.Remove(filepath.Join(r.dir, f.Name())); err != nil {
			return nil, fault.As(fault.ErrExternal, fmt.Errorf("plug-in store: %w", err))
		}
	}
	return r, nil
}

// Put checks and keeps a module of a tenant; the same bytes again give what is there,
// and created is false. The error of class ErrUser names everything that is wrong
// with the module; ErrConflict: its name and version belong to another module.
func (r *Registry) Put(ctx context.Context, id tenant.ID, module []byte) (p catalog.Plugin, created bool, err error) {
	m, err := binary.Read(bytes.NewReader(module))
	if err != nil {
		return catalog.Plugin{}, false, err
	}
	if err := binary.Check(m); err != nil {
		return catalog.Plugin{}, false, err
	}
	manifest, err := m.Manifest()
	if err != nil {
		return catalog.Plugin{}, false, err
	}
	if manifest.Version == "" || strings.ContainsAny(manifest.Version, "@ \t\r\n") {
		return catalog.Plugin{}, false, fault.Userf("manifest version: a host finds plug-ins by name@version, so it may not be empty nor hold blanks or @, is %q", manifest.Version)
	}
	if err := r.try(ctx, module); err != nil {
		return catalog.Plugin{}, false, err
	}
	// The file comes first: a name in the catalogue always has its bytes. Without the
	// name, the file is nobody's, and the next upload of the same bytes finds it.
	if err := r.store(m.Digest, module); err != nil {
		return catalog.Plugin{}, false, fault.As(fault.ErrExternal, fmt.Errorf("plug-in store: %w", err))
	}
	return r.cat.AddPlugin(ctx, id, catalog.Plugin{
		Name: manifest.Name, Version: manifest.Version, Digest: m.Digest, Size: m.Size,
		Manifest: m.Marker[4:], Created: r.env.Clock.Now(),
	}, r.quota)
}

// store writes a module durably under its digest, unless it is there.
func (r *Registry) store(digest string, module []byte) error {
	path := r.Path(digest)
	if info, err := r.env.FS.Stat(path); err == nil && info.Size() == int64(len(module)) {
		return nil
	}
	dir := filepath.Dir(path)
	if err := r.env.FS.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	var suffix [8]byte
	if _, err := io.ReadFull(r.env.Rand, suffix[:]); err != nil {
		return err
	}
	temp := filepath.Join(r.dir, tempPrefix+hex.EncodeToString(suffix[:]))
	f, err := r.env.FS.Create(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o400)
	if err != nil {
		return err
	}
	_, err = f.Write(module)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = r.env.FS.Rename(temp, path)
	}
	if err != nil {
		return errors.Join(err, r.env.FS.Remove(temp))
	}
	if err := r.env.FS.SyncDir(dir); err != nil {
		return err
	}
	return r.env.FS.SyncDir(r.dir)
}

// Path returns where the module with a digest lies.
func (r *Registry) Path(digest string) string {
	return filepath.Join(r.dir, digest[:2], digest+".wasm")
}

// List returns a tenant's plug-ins.
func (r *Registry) List(ctx context.Context, id tenant.ID) ([]catalog.Plugin, error) {
	return r.cat.Plugins(ctx, id)
}

// Resolve finds a plug-in of a tenant by name@version or sha256:digest. ErrUnknown
// lists what there is.
func (r *Registry) Resolve(ctx context.Context, id tenant.ID, ref string) (catalog.Plugin, error) {
	var (
		p   catalog.Plugin
		err error
	)
	if digest, ok := strings.CutPrefix(ref, "sha256:"); ok {
		p, err = r.cat.PluginByDigest(ctx, id, strings.ToLower(digest))
	} else if name, version, ok := strings.Cut(ref, "@"); ok {
		p, err = r.cat.PluginByName(ctx, id, name, version)
	} else {
		return p, fault.Userf("%q is not name@version or sha256:…", ref)
	}
	if !errors.Is(err, fault.ErrUnknown) {
		return p, err
	}
	all, lerr := r.cat.Plugins(ctx, id)
	if lerr != nil {
		return p, lerr
	}
	if len(all) == 0 {
		return p, fault.Unknownf("%w; none has been uploaded yet", err)
	}
	names := make([]string, 0, maxListed)
	for _, q := range all[:min(len(all), maxListed)] {
		names = append(names, q.Name+"@"+q.Version)
	}
	return p, fault.Unknownf("%w; there are: %s", err, strings.Join(names, ", "))
}

// maxListed is how many names a message shows.
const maxListed = 10
