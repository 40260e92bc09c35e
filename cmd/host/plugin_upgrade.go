package main

import (
	"fmt"

	"tidemark/abi"
)

// upgradeView is an older schema that a module converts what it kept from.
type upgradeView struct {
	Schema uint32 `json:"schema"`
	// Width is the bytes of its accumulators, if they had a fixed size.
	Width int `json:"accumulator_width,omitempty"`
}

func viewUpgrades(list []abi.Upgrade) (views []upgradeView) {
	for _, u := range list {
		views = append(views, upgradeView(u))
	}
	return views
}

// showUpgrades writes a line for each; nothing if there are none.
func showUpgrades(list []upgradeView, line func(name, format string, args ...any)) {
	for i, u := range list {
		size := ""
		if u.Width > 0 {
			size = fmt.Sprintf(", accumulators of %s", count(int64(u.Width), "byte"))
		}
		line(map[bool]string{true: "upgrades"}[i == 0], "from schema %d%s", u.Schema, size)
	}
}
