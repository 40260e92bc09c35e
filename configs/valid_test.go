package configs_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/host/controller"
	"tidemark/internal/env"
)

func TestAllExamplesAreValid(t *testing.T) {
	names, err := filepath.Glob("*.yaml")
	if err != nil || len(names) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	plugins := buildPlugins(t)
	modules := openModules(t)
	for _, name := range names {
		if strings.HasSuffix(name, ".test.yaml") {
			continue // tests of a job: TestTheTestsOfExamplesPass
		}
		t.Run(name, func(t *testing.T) {
			yaml, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			_, err = controller.Load(t.Context(), controller.LoadRequest{
				YAML: bytes.ReplaceAll(yaml, []byte("../bin/plugins/"), []byte(plugins+"/")),
				Name: name, Dir: here, Machine: env.Real(), Modules: modules,
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}
