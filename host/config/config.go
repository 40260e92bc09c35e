// Package config reads the host's configuration: defaults, then a YAML file, then
// the environment, then flags, each stronger than the one before. It says where each
// value came from, refuses keys that it does not know, and reports all problems at
// once. It opens the file and nothing else.
package config

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"

	"tidemark/host/tenant"
	"tidemark/internal/fault"
)

// Config is what a host runs with.
type Config struct {
	Data            string        // directory of the catalogue, modules and jobs
	Listen          string        // host:port
	Inputs          string        // directory that jobs may read files from; empty: none
	StopTimeout     time.Duration // how long a stop waits for a job before it answers "stopping"
	ShutdownTimeout time.Duration // how long the process waits for requests and jobs when it ends
	LogFormat       string        // "text" or "json"
	Quota           tenant.Quota  // of each tenant
	Turns           Turns
}

// Turns is how the CPU is shared between tenants; see host/turns.
type Turns struct {
	AtOnce  int               // turns that are held at the same time; 0: one for each processor
	Weights map[tenant.ID]int // of some tenants; others have 1
}

// Setting is one value with where it came from.
type Setting struct{ Key, Value, Origin string }

// key is a setting: its name in the file (TIDEMARK_NAME in the environment, --name
// as a flag, with underscores and hyphens in place of dots), and how its text
// becomes a value.
type key struct {
	name, usage string
	preset      string
	set         func(*Config, string) error
}

var quota = tenant.DefaultQuota()

var keys = [...]key{
	{"data", "directory for the catalogue, modules, jobs and their results", "", func(c *Config, s string) error {
		c.Data = s
		if s == "" {
			return errors.New("must be set: the host keeps all it knows there")
		}
		return nil
	}},
	{"listen", "address to listen on", "127.0.0.1:7070", func(c *Config, s string) error {
		c.Listen = s
		_, _, err := net.SplitHostPort(s)
		if err != nil {
			return fmt.Errorf("must be host:port, is %q", s)
		}
		return nil
	}},
	{"inputs", "directory that jobs may read files from (none: jobs may read no files)", "", func(c *Config, s string) error {
		c.Inputs = s
		return nil
	}},
	{"stop_timeout", "how long a stop waits for a job before it answers that it is still stopping", "10s", duration(func(c *Config) *time.Duration { return &c.StopTimeout })},
	{"shutdown_timeout", "how long the host waits for requests and jobs when it is told to end", "10s", duration(func(c *Config) *time.Duration { return &c.ShutdownTimeout })},
	{"log_format", "text or json", "text", func(c *Config, s string) error {
		c.LogFormat = s
		if s != "text" && s != "json" {
			return fmt.Errorf("must be text or json, is %q", s)
		}
		return nil
	}},
	{"quota.plugins", "modules that a tenant may keep", num(quota.Plugins), count(func(c *Config) *int { return &c.Quota.Plugins })},
	{"quota.plugin_bytes", "bytes of all modules of a tenant", num(quota.PluginBytes), count(func(c *Config) *int64 { return &c.Quota.PluginBytes })},
	{"quota.jobs", "jobs that a tenant may keep, in any state", num(quota.Jobs), count(func(c *Config) *int { return &c.Quota.Jobs })},
	{"quota.running", "jobs of a tenant that may run at the same time", num(quota.Running), count(func(c *Config) *int { return &c.Quota.Running })},
	{"quota.parallelism", "subtasks of an operator, at most", num(quota.Parallelism), count(func(c *Config) *int { return &c.Quota.Parallelism })},
	{"quota.job_bytes", "size of a job file", num(quota.JobBytes), count(func(c *Config) *int64 { return &c.Quota.JobBytes })},
	{"quota.state_bytes", "bytes of state that a job may hold (its settings.state_budget), at most", num(quota.StateBytes), count(func(c *Config) *int64 { return &c.Quota.StateBytes })},
	{"quota.tokens", "tokens of a tenant", num(quota.Tokens), count(func(c *Config) *int { return &c.Quota.Tokens })},
	{"turns.at_once", "how many tasks of all jobs compute at the same time: a number, or auto for one on each processor", auto, func(c *Config, s string) error {
		if s == auto {
			return nil
		}
		return count(func(c *Config) *int { return &c.Turns.AtOnce })(c, s)
	}},
	{"turns.weights", "tenants that get more of the CPU than others where all want it, such as acme=3,beta=2 (others: 1)", "", weights},
}

// auto is the value of a setting that the host chooses.
const auto = "auto"

// maxWeight bounds a tenant's weight: more would leave nothing worth having to others.
const maxWeight = 100

// weights reads acme=3,beta=2.
func weights(c *Config, s string) error {
	c.Turns.Weights = map[tenant.ID]int{}
	for _, part := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' }) {
		name, text, _ := strings.Cut(part, "=")
		id, err := tenant.ParseID(name)
		if err != nil {
			return fmt.Errorf("must be such as acme=3,beta=2: %w", err)
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxWeight {
			return fmt.Errorf("must give tenant %s a weight from 1 to %d, as in %s=3, is %q", id, maxWeight, id, part)
		}
		if c.Turns.Weights[id] != 0 {
			return fmt.Errorf("names tenant %s twice", id)
		}
		c.Turns.Weights[id] = n
	}
	return nil
}

func num[N int | int64](n N) string { return strconv.FormatInt(int64(n), 10) }

func duration(field func(*Config) *time.Duration) func(*Config, string) error {
	return func(c *Config, s string) error {
		d, err := time.ParseDuration(s)
		if err != nil || d <= 0 {
			return fmt.Errorf("must be a duration above 0 with its unit, such as 10s, is %q", s)
		}
		*field(c) = d
		return nil
	}
}

func count[N int | int64](field func(*Config) *N) func(*Config, string) error {
	return func(c *Config, s string) error {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n < 1 || int64(N(n)) != n {
			return fmt.Errorf("must be a whole number above 0, is %q", s)
		}
		*field(c) = N(n)
		return nil
	}
}

// envPrefix begins the name of each variable.
const envPrefix = "TIDEMARK_"

func (k key) env() string  { return envPrefix + strings.ToUpper(strings.ReplaceAll(k.name, ".", "_")) }
func (k key) flag() string { return strings.NewReplacer(".", "-", "_", "-").Replace(k.name) }

// Flags adds a flag for each setting, and --config for the file.
func Flags(fs *pflag.FlagSet) {
	fs.String("config", "", "configuration file (YAML)")
	for _, k := range keys {
		fs.String(k.flag(), k.preset, k.usage)
	}
}

// Load reads everything. fs has been filled by Flags and parsed; lookup finds
// environment variables. Errors are of class ErrUser and hold all problems.
func Load(fs *pflag.FlagSet, lookup func(string) (string, bool)) (Config, []Setting, error) {
	file, err := fs.GetString("config")
	if err != nil {
		return Config{}, nil, err
	}
	if env, ok := lookup(envPrefix + "CONFIG"); file == "" && ok {
		file = env
	}

	v := viper.New()
	var problems []error
	inFile := map[string]bool{}
	if file != "" {
		v.SetConfigFile(file)
		v.SetConfigType("yaml") // whatever the file is called
		if err := v.ReadInConfig(); err != nil {
			return Config{}, nil, fault.As(fault.ErrUser, fmt.Errorf("configuration file %s: %w", file, err))
		}
		for _, name := range v.AllKeys() {
			inFile[name] = true
			if !slices.ContainsFunc(keys[:], func(k key) bool { return k.name == name }) {
				problems = append(problems, fmt.Errorf("%s: unknown key %s; these are known: %s", file, name, known()))
			}
		}
	}
	var (
		c        Config
		settings []Setting
	)
	for _, k := range keys {
		v.SetDefault(k.name, k.preset)
		origin := "default"
		if inFile[k.name] {
			origin = file
		}
		if text, ok := lookup(k.env()); ok && text != "" {
			v.Set(k.name, text)
			origin = k.env()
		}
		if f := fs.Lookup(k.flag()); f.Changed {
			v.Set(k.name, f.Value.String())
			origin = "--" + k.flag()
		}
		text, err := scalar(v.Get(k.name))
		if err == nil {
			err = k.set(&c, text)
		}
		if err != nil {
			if origin == "default" {
				origin = "--" + k.flag() + " or " + k.env()
			}
			problems = append(problems, fmt.Errorf("%s: %s %w", origin, k.name, err))
		}
		settings = append(settings, Setting{k.name, text, origin})
	}
	if len(problems) > 0 {
		return Config{}, nil, fault.As(fault.ErrUser, errors.Join(problems...))
	}
	return c, settings, nil
}

// scalar is the text of a value from the file.
func scalar(v any) (string, error) {
	switch v := v.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	case bool, int, int64, uint64, float64:
		return fmt.Sprint(v), nil
	}
	return "", errors.New("must be one value")
}

func known() string {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.name
	}
	return strings.Join(names, ", ")
}
