package checkpoint

import "tidemark/internal/env"

// NoSync makes files quick, for tests of what is there without a crash.
func NoSync(fs env.FS) env.FS { return noSync{fs} }
