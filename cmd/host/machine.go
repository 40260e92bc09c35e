package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"tidemark/host/controller"
	"tidemark/internal/env"
	"tidemark/internal/fault"
)

// maxJobFile is a little above what a job file may have, so that the reader of job
// files says what is wrong with a larger one.
const maxJobFile = 2 << 20

// localJob is a job file of this machine, loaded. Close it.
type localJob struct {
	*controller.Loaded
	file    string // as named on the command line
	path    string // absolute
	machine env.Env
	modules *controller.ModuleCache
	// noCache says why plug-ins are compiled anew in each run; nil: they are not.
	noCache error
}

// openJob reads and checks a job file. Its plug-ins are compiled through the cache
// that all runs of this user share.
func openJob(ctx context.Context, file string, set []string) (*localJob, error) {
	path, err := filepath.Abs(file)
	if err != nil {
		return nil, fmt.Errorf("job file %s: %w", file, err)
	}
	yaml, err := readJobFile(path)
	if err != nil {
		var pe *os.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return nil, fault.Userf("job file %s: %w", file, err)
	}
	machine := env.Real()
	cache, noCache := cacheDir()
	modules, err := controller.OpenModules(ctx, machine, cache)
	if err != nil {
		return nil, err
	}
	loaded, err := controller.Load(ctx, controller.LoadRequest{
		YAML: yaml, Name: file, Dir: filepath.Dir(path), Set: set,
		Machine: machine, Modules: modules, Env: os.LookupEnv,
	})
	if err != nil {
		return nil, errors.Join(err, modules.Close(ctx))
	}
	j := &localJob{Loaded: loaded, file: file, path: path, machine: machine, modules: modules}
	if len(j.Graph.Plugins) > 0 {
		j.noCache = noCache
	}
	return j, nil
}

func readJobFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read from
	return io.ReadAll(io.LimitReader(f, maxJobFile))
}

// Close frees the plug-ins. It works after an interrupt, too.
func (j *localJob) Close() error { return j.modules.Close(context.Background()) }

// cacheDir returns the directory that holds compiled plug-ins, which can be written
// to. Without one, dir is empty and err says why: plug-ins are then kept in memory.
func cacheDir() (dir string, err error) {
	dir, err = os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir = filepath.Join(dir, "tidemark", "wasm")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	probe, err := os.CreateTemp(dir, "probe-")
	if err != nil {
		return "", err
	}
	return dir, errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// stateDir holds what runs of this user remember; empty: there is no place for it.
func stateDir() string {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "tidemark")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".local", "state", "tidemark")
}

// short writes an absolute path relative to the working directory if it lies below.
func short(path string) string {
	dir, err := os.Getwd()
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// setFlag adds --set to a command.
func setFlag(cmd *cobra.Command) *[]string {
	return cmd.Flags().StringArray("set", nil, "override a setting of the job file, such as steps.NAME.window.tumbling=1m; may be repeated")
}

// join is strings.Join with a last word.
func join(items []string, last string) string {
	if len(items) < 2 {
		return strings.Join(items, "")
	}
	return strings.Join(items[:len(items)-1], ", ") + " " + last + " " + items[len(items)-1]
}
