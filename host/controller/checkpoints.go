package controller

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"tidemark/engine/checkpoint"
	"tidemark/engine/checkpoint/s3"
	"tidemark/internal/env"
	"tidemark/internal/fault"
)

// CheckpointDir is where `run` keeps the checkpoints of a job whose file names no place: by
// the absolute path of that and the job's name.
func CheckpointDir(stateDir, jobFile, jobName string) string {
	return placeOf(stateDir, "checkpoints", jobFile, jobName)
}

// Environ looks up a variable of the environment, which says how object storage is reached.
// Nil: there is none.
type Environ func(name string) (value string, ok bool)

// StateDir is where `run` keeps state that has no room in memory while a job runs.
func StateDir(stateDir, jobFile, jobName string) string {
	return placeOf(stateDir, "spilled", jobFile, jobName)
}

// OpenCheckpoints opens the log in a place: an absolute directory, or s3://bucket/prefix.
// Nothing is made or changed there, and nobody is asked.
func OpenCheckpoints(machine env.Env, place string, environ Environ) (*checkpoint.Log, error) {
	if !strings.HasPrefix(place, s3.Scheme) {
		return checkpoint.Open(checkpoint.OpenLocal(machine.FS, place), machine.Rand), nil
	}
	store, err := s3.Open(place, s3.Options{
		Endpoint: environ.first("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"),
		Region:   environ.first("AWS_REGION", "AWS_DEFAULT_REGION"),
	})
	if err != nil {
		return nil, err
	}
	return checkpoint.Open(store, machine.Rand), nil
}

// first returns the first variable that is set, or "".
func (e Environ) first(names ...string) string {
	for _, name := range names {
		if e == nil {
			break
		}
		if v, ok := e(name); ok && v != "" {
			return v
		}
	}
	return ""
}

// FindCheckpoint finds a checkpoint by what people call it: the path of its manifest, as
// lists show it, or the place where the checkpoints of a job lie, for the newest one there
// that can be read, savepoints included. All of it has been read, so that nothing is damaged.
func FindCheckpoint(ctx context.Context, machine env.Env, name string, environ Environ) (*checkpoint.Checkpoint, error) {
	place := name
	manifest := checkpoint.IsManifest(filepath.Base(name))
	if manifest {
		place = name[:len(name)-len(filepath.Base(name))]
		place = strings.TrimRight(place, "/")
	}
	log, err := OpenCheckpoints(machine, place, environ)
	if err != nil {
		return nil, err
	}
	list, err := log.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, e := range slices.Backward(list) {
		switch {
		case manifest && e.Path != name:
		case e.Err == nil:
			return log.Load(ctx, e.Meta.ID)
		case manifest:
			return nil, e.Err
		}
	}
	if manifest {
		return nil, fault.Unknownf("there is no checkpoint %s; tidemark checkpoint list %s shows those that there are", name, place)
	}
	if len(list) > 0 {
		return nil, list[len(list)-1].Err
	}
	return nil, fault.Unknownf("there are no checkpoints in %s", place)
}
