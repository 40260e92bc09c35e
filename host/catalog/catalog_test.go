package catalog

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"tidemark/host/tenant"
	"tidemark/internal/env"
	"tidemark/internal/fault"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func openIn(t *testing.T, dir string) *Catalog {
	t.Helper()
	c, err := Open(t.Context(), dir, env.Real())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// two makes a catalogue with the tenants a and b.
func two(t *testing.T) *Catalog {
	t.Helper()
	c := openIn(t, t.TempDir())
	for _, id := range []tenant.ID{"a", "b"} {
		if err := c.CreateTenant(t.Context(), id, noon); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func wantClass(t *testing.T, what string, err, class error) {
	t.Helper()
	if !errors.Is(err, class) {
		t.Errorf("%s: %v, want the class %q", what, err, class)
	}
}

func TestTenantsAndTokens(t *testing.T) {
	c, ctx := two(t), t.Context()
	wantClass(t, "a tenant's name is taken", c.CreateTenant(ctx, "a", noon), fault.ErrConflict)
	if ids, err := c.Tenants(ctx); err != nil || len(ids) != 2 || ids[0] != "a" || ids[1] != "b" {
		t.Errorf("tenants %v, %v", ids, err)
	}

	quota := tenant.Quota{Tokens: 1}
	token := tenant.Stored{ID: "0011", Hash: [32]byte{7}}
	if err := c.AddToken(ctx, "a", token, quota, noon); err != nil {
		t.Fatal(err)
	}
	if id, got, err := c.Token(ctx, "0011"); err != nil || id != "a" || got != token {
		t.Errorf("token: %s, %v, %v", id, got, err)
	}
	_, _, err := c.Token(ctx, "0012")
	wantClass(t, "a token that nobody made", err, fault.ErrUnknown)
	wantClass(t, "a token of a tenant that is not there", c.AddToken(ctx, "c", token, quota, noon), fault.ErrUnknown)
	wantClass(t, "one token too many", c.AddToken(ctx, "a", tenant.Stored{ID: "22"}, quota, noon), fault.ErrQuota)
}

func TestPlugins(t *testing.T) {
	c, ctx := two(t), t.Context()
	quota := tenant.Quota{Plugins: 2, PluginBytes: 100}
	p := Plugin{Name: "stats", Version: "1", Digest: "aa", Size: 60, Manifest: []byte(`{}`), Created: noon}
	add := func(id tenant.ID, p Plugin) (bool, error) {
		_, created, err := c.AddPlugin(ctx, id, p, quota)
		return created, err
	}
	if created, err := add("a", p); !created || err != nil {
		t.Fatal(created, err)
	}
	if created, err := add("a", p); created || err != nil {
		t.Errorf("the same module again: created %v, %v", created, err)
	}
	if created, err := add("b", p); !created || err != nil {
		t.Errorf("another tenant has a shelf of its own: created %v, %v", created, err)
	}
	other := p
	other.Digest = "bb"
	_, err := add("a", other)
	wantClass(t, "other bytes under the same name and version", err, fault.ErrConflict)
	other.Version = "2"
	_, err = add("a", other)
	wantClass(t, "120 of 100 bytes", err, fault.ErrQuota)
	other.Size = 40
	if _, err := add("a", other); err != nil {
		t.Errorf("100 of 100 bytes: %v", err)
	}
	third := Plugin{Name: "x", Version: "1", Digest: "cc", Created: noon}
	_, err = add("a", third)
	wantClass(t, "a third of two plug-ins", err, fault.ErrQuota)

	if got, err := c.PluginByName(ctx, "a", "stats", "1"); err != nil || got.Digest != "aa" || !got.Created.Equal(noon) {
		t.Errorf("by name: %+v, %v", got, err)
	}
	if got, err := c.PluginByDigest(ctx, "a", "bb"); err != nil || got.Version != "2" {
		t.Errorf("by digest: %+v, %v", got, err)
	}
	_, err = c.PluginByDigest(ctx, "b", "bb")
	wantClass(t, "a digest that only another tenant has", err, fault.ErrUnknown)
	if all, err := c.Plugins(ctx, "a"); err != nil || len(all) != 2 {
		t.Errorf("list: %v, %v", all, err)
	}
}

func TestJobs(t *testing.T) {
	c, ctx := two(t), t.Context()
	alive := []string{"created", "running"}
	quota := tenant.Quota{Jobs: 3, Running: 2}
	add := func(id JobID, state, yaml string) (Job, bool, error) {
		return c.AddJob(ctx, Job{Tenant: "a", ID: id, Name: "n", YAML: []byte(yaml), State: state, Created: noon}, alive, quota)
	}
	for _, id := range []JobID{"one", "two"} {
		if _, created, err := add(id, "created", "x"); !created || err != nil {
			t.Fatal(created, err)
		}
	}
	if j, created, err := add("one", "created", "x"); created || err != nil || j.ID != "one" {
		t.Errorf("asked again with the same file: created %v, %v", created, err)
	}
	_, _, err := add("one", "created", "y")
	wantClass(t, "asked again with another file", err, fault.ErrConflict)
	_, _, err = add("three", "created", "x")
	wantClass(t, "a third running job of two", err, fault.ErrQuota)

	j, err := c.Job(ctx, "a", "two")
	if err != nil {
		t.Fatal(err)
	}
	j.State, j.Message, j.Report, j.Started, j.Ended = "failed", "why", []byte(`{"sources":[]}`), noon.Add(time.Second), noon.Add(time.Minute)
	if err := c.UpdateJob(ctx, j); err != nil {
		t.Fatal(err)
	}
	if got, err := c.Job(ctx, "a", "two"); err != nil || got.State != "failed" || got.Message != "why" || string(got.Report) != `{"sources":[]}` ||
		!got.Started.Equal(j.Started) || !got.Ended.Equal(j.Ended) || string(got.YAML) != "x" {
		t.Errorf("after the update: %+v, %v", got, err)
	}
	if _, _, err := add("three", "created", "x"); err != nil {
		t.Errorf("one has ended, so one more may run: %v", err)
	}
	_, _, err = add("four", "created", "x")
	wantClass(t, "a fourth job of three", err, fault.ErrQuota)

	_, err = c.Job(ctx, "b", "one")
	wantClass(t, "another tenant's job", err, fault.ErrUnknown)
	wantClass(t, "deleting another tenant's job", c.DeleteJob(ctx, "b", "one"), fault.ErrUnknown)
	if in, err := c.JobsIn(ctx, alive); err != nil || len(in) != 2 || in[0].ID != "one" || in[1].ID != "three" {
		t.Errorf("alive: %v, %v", in, err)
	}
	if err := c.DeleteJob(ctx, "a", "one"); err != nil {
		t.Error(err)
	}
	wantClass(t, "deleting twice", c.DeleteJob(ctx, "a", "one"), fault.ErrUnknown)
	wantClass(t, "an update after that", c.UpdateJob(ctx, Job{Tenant: "a", ID: "one"}), fault.ErrUnknown)
}

func TestJobIDs(t *testing.T) {
	for id, ok := range map[string]bool{"a": true, "2026-01-02_x": true, "": false, "..": false, "a/b": false, "-a": false, "A": false} {
		if _, err := ParseJobID(id); (err == nil) != ok {
			t.Errorf("%q: %v", id, err)
		}
	}
}

// Two processes work on one directory: the host, and `tenant create` beside it.
func TestReopenAndShare(t *testing.T) {
	dir, ctx := filepath.Join(t.TempDir(), "data dir?#%41"), t.Context()
	first := openIn(t, dir)
	second := openIn(t, dir)
	if err := second.CreateTenant(ctx, "a", noon); err != nil {
		t.Fatal(err)
	}
	if ids, err := first.Tenants(ctx); err != nil || len(ids) != 1 {
		t.Errorf("seen from the first: %v, %v", ids, err)
	}
	if err := errors.Join(first.Close(), second.Close()); err != nil {
		t.Fatal(err)
	}
	if ids, err := openIn(t, dir).Tenants(ctx); err != nil || len(ids) != 1 {
		t.Errorf("after a restart: %v, %v", ids, err)
	}
	if found, err := filepath.Glob(filepath.Join(filepath.Dir(dir), "*", fileName)); err != nil || len(found) != 1 {
		t.Errorf("the database is not where it should be: %v, %v", found, err)
	}
}

func TestOneHostADirectory(t *testing.T) {
	dir := t.TempDir()
	release, err := Lock(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Lock(t.Context(), dir)
	wantClass(t, "a second host", err, fault.ErrConflict)
	if err := release(); err != nil {
		t.Fatal(err)
	}
	release, err = Lock(t.Context(), dir)
	if err != nil {
		t.Fatalf("after the first has gone: %v", err)
	}
	if err := release(); err != nil {
		t.Error(err)
	}
}

func TestNewerSchemaIsRefused(t *testing.T) {
	dir := t.TempDir()
	c := openIn(t, dir)
	if _, err := c.write.ExecContext(t.Context(), `PRAGMA user_version = 99`); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), dir, env.Real())
	wantClass(t, "a newer schema", err, fault.ErrUser)
}

func TestCancelledContext(t *testing.T) {
	c := two(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantClass(t, "a client that went away", c.CreateTenant(ctx, "c", noon), context.Canceled)
}
