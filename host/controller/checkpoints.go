package controller

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"slices"
	"strings"

	"tidemark/engine/checkpoint"
	"tidemark/internal/env"
	"tidemark/internal/fault"
)

// CheckpointDir is where `run` keeps the checkpoints of a job whose file names no place: by
// the absolute path of that and the job's name.
func CheckpointDir(stateDir, jobFile, jobName string) string {
	sum := sha256.Sum256([]byte(jobFile + "\n" + jobName))
	return filepath.Join(stateDir, "checkpoints", hex.EncodeToString(sum[:16]))
}

// s3Scheme is how the name of a bucket begins.
const s3Scheme = "s3://"

// OpenCheckpoints opens the log in a place: an absolute directory, or s3://bucket/prefix.
// Nothing is made or changed there.
func OpenCheckpoints(machine env.Env, place string) (*checkpoint.Log, error) {
	if strings.HasPrefix(place, s3Scheme) {
		return nil, fault.Userf("checkpoints in %s: this host keeps them in directories only", place)
	}
	return checkpoint.Open(checkpoint.OpenLocal(machine.FS, place), machine.Rand), nil
}

// FindCheckpoint finds a checkpoint by what people call it: the path of its manifest, as
// lists show it, or the place where the checkpoints of a job lie, for the newest one there
// that can be read, savepoints included. All of it has been read, so that nothing is damaged.
func FindCheckpoint(ctx context.Context, machine env.Env, name string) (*checkpoint.Checkpoint, error) {
	place := name
	manifest := checkpoint.IsManifest(filepath.Base(name))
	if manifest {
		place = name[:len(name)-len(filepath.Base(name))]
		place = strings.TrimRight(place, "/")
	}
	log, err := OpenCheckpoints(machine, place)
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
