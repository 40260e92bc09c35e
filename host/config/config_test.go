package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"tidemark/internal/fault"
)

// load reads a configuration made of a file's text, variables and arguments.
func load(t *testing.T, file string, vars map[string]string, args ...string) (Config, map[string]Setting, error) {
	t.Helper()
	if file != "" {
		path := filepath.Join(t.TempDir(), "host.conf")
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--config", path)
	}
	fs := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	Flags(fs)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	c, list, err := Load(fs, func(name string) (string, bool) { s, ok := vars[name]; return s, ok })
	settings := map[string]Setting{}
	for _, s := range list {
		settings[s.Key] = s
	}
	return c, settings, err
}

func TestFileThenEnvironmentThenFlags(t *testing.T) {
	c, s, err := load(t, "data: /from/file\nlisten: 127.0.0.1:1\nstop_timeout: 3s\nquota:\n  running: 2\n  jobs: 20\n",
		map[string]string{"TIDEMARK_LISTEN": "127.0.0.1:2", "TIDEMARK_QUOTA_RUNNING": "3", "TIDEMARK_INPUTS": ""},
		"--listen", "127.0.0.1:3")
	if err != nil {
		t.Fatal(err)
	}
	if c.Data != "/from/file" || c.Listen != "127.0.0.1:3" || c.StopTimeout != 3*time.Second || c.Quota.Running != 3 || c.Quota.Jobs != 20 || c.LogFormat != "text" {
		t.Errorf("got %+v", c)
	}
	for key, origin := range map[string]string{"listen": "--listen", "quota.running": "TIDEMARK_QUOTA_RUNNING", "log_format": "default", "inputs": "default"} {
		if s[key].Origin != origin {
			t.Errorf("%s comes from %q, want %q", key, s[key].Origin, origin)
		}
	}
	if !strings.HasSuffix(s["quota.jobs"].Origin, "host.conf") {
		t.Errorf("quota.jobs comes from %q, want the file", s["quota.jobs"].Origin)
	}
}

func TestAllProblemsAtOnce(t *testing.T) {
	_, _, err := load(t, "listne: 127.0.0.1:1\nquota: {running: -1, tokens: [1]}\nturns: {at_once: 0, weights: acme=x}\nstop_timeout: 10\nlog_format: xml\n", nil)
	if !errors.Is(err, fault.ErrUser) {
		t.Fatalf("class of %v", err)
	}
	for _, want := range []string{
		"unknown key listne; these are known: data, listen,",
		"--data or TIDEMARK_DATA: data must be set",
		`quota.running must be a whole number above 0, is "-1"`,
		"quota.tokens must be one value",
		`turns.at_once must be a whole number above 0, is "0"`,
		`turns.weights must give tenant acme a weight from 1 to 100, as in acme=3, is "acme=x"`,
		`stop_timeout must be a duration above 0 with its unit, such as 10s, is "10"`,
		`log_format must be text or json, is "xml"`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in:\n%v", want, err)
		}
	}
}

func TestTurns(t *testing.T) {
	c, _, err := load(t, "data: x\n", nil)
	if err != nil || c.Turns.AtOnce != 0 || len(c.Turns.Weights) != 0 {
		t.Errorf("without a word: %+v, %v", c.Turns, err)
	}
	c, _, err = load(t, "data: x\nturns:\n  at_once: 3\n  weights: acme=3, beta=2\n", nil)
	if err != nil || c.Turns.AtOnce != 3 || len(c.Turns.Weights) != 2 || c.Turns.Weights["acme"] != 3 || c.Turns.Weights["beta"] != 2 {
		t.Errorf("from a file: %+v, %v", c.Turns, err)
	}
	c, _, err = load(t, "data: x\nturns: {at_once: 3}\n", map[string]string{"TIDEMARK_TURNS_WEIGHTS": "acme=100"}, "--turns-at-once", "auto")
	if err != nil || c.Turns.AtOnce != 0 || c.Turns.Weights["acme"] != 100 {
		t.Errorf("from everywhere: %+v, %v", c.Turns, err)
	}
	for _, bad := range []string{"acme", "acme=0", "acme=101", "Acme=1", "acme=1,acme=2"} {
		if _, _, err := load(t, "data: x\n", nil, "--turns-weights", bad); !errors.Is(err, fault.ErrUser) || !strings.Contains(err.Error(), "--turns-weights: turns.weights") {
			t.Errorf("%s: got %v", bad, err)
		}
	}
}

func TestFileThatIsNotThere(t *testing.T) {
	_, _, err := load(t, "", map[string]string{"TIDEMARK_CONFIG": filepath.Join(t.TempDir(), "none.yaml")}, "--data", "x")
	if !errors.Is(err, fault.ErrUser) || !strings.Contains(err.Error(), "none.yaml") {
		t.Errorf("got %v", err)
	}
}
