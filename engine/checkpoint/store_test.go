package checkpoint_test

import (
	"testing"

	"tidemark/engine/checkpoint"
	"tidemark/engine/checkpoint/storetest"
	"tidemark/internal/env"
)

func TestDirectory(t *testing.T) {
	storetest.Run(t, func(t *testing.T) checkpoint.Store {
		return checkpoint.OpenLocal(checkpoint.NoSync(env.Real().FS), t.TempDir())
	})
}
