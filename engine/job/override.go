package job

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// override puts "key=value" of --set into the tree: key is the dotted path of a
// setting, value is read as YAML. Mappings on the way are made where they are
// missing; what the job file says there is replaced.
func (r *reader) override(root *node, set string) {
	const maxOverride = 4 << 10 // bytes; a single setting is far shorter

	key, value, ok := strings.Cut(set, "=")
	at := place{set: "--set " + quote(key)}
	if !ok || key == "" {
		at.set = "--set"
		r.report(at, "%s is not key=value, such as parallelism=4", quote(set))
		return
	}
	var doc yaml.Node
	if len(set) > maxOverride {
		r.report(at, "is longer than %d bytes", maxOverride)
		return
	}
	if err := yaml.Unmarshal([]byte(value), &doc); err != nil || len(doc.Content) > 1 {
		r.report(at, "the value is not valid YAML: %s", quote(value))
		return
	}
	n := &node{tag: "!!null", at: at, key: at}
	if len(doc.Content) == 1 {
		outer := r.problems
		r.problems = nil
		budget := maxNodes
		n = r.convert(doc.Content[0], maxDepth, &budget)
		for _, p := range r.problems { // their lines are those of the override
			outer = append(outer, Problem{Set: at.set, Text: p.Text})
		}
		r.problems = outer
		if n == nil || n.tag == tagDropped {
			return
		}
		n.move(at)
	}
	r.place(root, key, n, at)
}

// named are the sections whose keys are names: a setting below a name that is not
// there is a misspelling, not something new.
var named = [...]string{"plugins", "sources", "steps", "sinks"}

// place hangs n into the tree at a dotted path. A step of the path is the longest
// run of its names that is a key there, since names of fields hold dots.
func (r *reader) place(root *node, path string, n *node, at place) {
	parts := strings.Split(path, ".")
	if slices.Contains(parts, "") || len(parts) > maxDepth {
		r.report(at, "the key is the dotted path of a setting, such as settings.batch.rows")
		return
	}
	cur := root
	for i := 0; ; {
		if cur.kind != mappingNode {
			r.report(at, "%s is %s, so nothing can be set below it", strings.Join(parts[:i], "."), cur.describe())
			return
		}
		take := 1
		for k := len(parts) - i; k > 0; k-- {
			if cur.find(strings.Join(parts[i:i+k], ".")) != nil {
				take = k
				break
			}
		}
		name := strings.Join(parts[i:i+take], ".")
		i += take
		j := slices.IndexFunc(cur.entries, func(e entry) bool { return e.key == name })
		if i == len(parts) {
			if j < 0 {
				cur.entries = append(cur.entries, entry{name, n})
			} else {
				cur.entries[j].value = n
			}
			return
		}
		if j < 0 && cur != root && slices.Contains(named[:], parts[0]) && cur == root.find(parts[0]) {
			var known []string
			for _, e := range cur.entries {
				known = append(known, e.key)
			}
			r.report(at, "there is no %s in %s%s", quote(name), parts[0], hint(name, known))
			return
		}
		if j < 0 {
			cur.entries = append(cur.entries, entry{name, &node{kind: mappingNode, at: at, key: at}})
			j = len(cur.entries) - 1
		}
		cur = cur.entries[j].value
	}
}

// move gives a tree one place.
func (n *node) move(at place) {
	n.at, n.key = at, at
	for i := range n.entries {
		n.entries[i].value.move(at)
	}
	for _, item := range n.items {
		item.move(at)
	}
}
