package abi_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"tidemark/abi"
)

// A module that converts from older schemas says so, and exports the call for it.
func TestUpgrades(t *testing.T) {
	state := func(kind, members string) string {
		return `{"name": "a", "version": "", "` + kind + `": {"inputs": [], ` + members + `"schema": 9, "upgrades": [{"schema": 7}, {"schema": 2}]}}}`
	}
	two := []abi.Upgrade{{Schema: 7}, {Schema: 2}}
	for _, row := range []struct {
		name, text string
		want       []abi.Upgrade
	}{
		{"none", stats, nil},
		{"accumulators", strings.Replace(stats, `"schema": 1`, `"schema": 9, "upgrades": [{"schema": 7, "width": 24}, {"schema": 2, "width": 4096}]`, 1),
			[]abi.Upgrade{{Schema: 7, Width: 24}, {Schema: 2, Width: 4096}}},
		{"states of keys", state("process", `"outputs": [{"name": "n", "type": "int64"}], "state": {"key": true, `), two},
		{"states of windows", state("trigger", `"state": {`), two},
		{"states of splits", state("watermark", `"state": {`), two},
	} {
		m, err := abi.ParseManifest([]byte(row.text))
		if err != nil {
			t.Errorf("%s: %v", row.name, err)
			continue
		}
		if got := m.Upgrades(); !reflect.DeepEqual(got, row.want) {
			t.Errorf("%s: %+v, want %+v", row.name, got, row.want)
		}
		exported := slices.ContainsFunc(abi.Exports(m), func(e abi.Export) bool { return e.Name == abi.ExportUpgrade && e.Required })
		if exported != (len(row.want) > 0) {
			t.Errorf("%s: is %s asked for: %t", row.name, abi.ExportUpgrade, exported)
		}
	}
}
