//go:build !wasip1

package tidemark

// MapTwin drives a function of single records in tests as a host does. Each call is one
// on a fresh instance.
type MapTwin struct {
	m    *MapFunction
	args Values
	room int // bytes of the output area; 0: all that is left of the arena
}

// NewMapTwin configures the function with a job's arguments, by the parameters' names.
// The error is a *Refusal, or says which argument does not fit.
func NewMapTwin(m *MapFunction, args Values) (*MapTwin, error) {
	full, err := argsOf(m.spec.Params, args)
	if err != nil {
		return nil, err
	}
	mu.Lock()
	defer mu.Unlock()
	if err := configureTwin(m, m.spec.Params, full); err != nil {
		return nil, err
	}
	return &MapTwin{m: m, args: full}, nil
}

// Show shows the function records in one call, and returns what it makes of each. After an
// error, a *Refusal with the record in Op if it refused one, there is nothing. A record in
// which a column is null that is not declared nullable is left out, and gives nothing.
func (t *MapTwin) Show(records ...Record) ([][]Values, error) {
	made := make([][]Values, len(records))
	calls := singles{m: t.m, op: opMap, records: t.m.records, room: t.room, configure: func() error {
		t.m.ready = false
		return configureTwin(t.m, t.m.spec.Params, t.args)
	}}
	err := calls.show(records, func(r Record) bool { return !lacks(t.m.spec.Inputs, r.Values) }, func(at int, body []byte) {
		made[at] = append(made[at], rowOf(body, t.m.spec.Outputs))
	})
	if err != nil {
		return nil, err
	}
	return made, nil
}
