package tidemark

// Param is an argument that a job gives to the aggregate: what ParamInt64,
// ParamFloat64, ParamBool and ParamString declare. Its value stands from the call of
// Spec.Configure on, for the life of the instance.
type Param interface {
	declared() *param
	bind(f frame, d *descriptor, rows int) bool
}

// param is what all parameters share. given: the job or a default gave a value.
type param struct {
	name     string
	kind     kind
	required bool
	given    bool
	fallback any    // the default; nil: none
	json     string // the default in the manifest
}

func (p *param) declared() *param { return p }

// Given reports whether there is a value: the job's, or else the default.
func (p *param) Given() bool { return p.given }

// Int64Param is a whole number.
type Int64Param struct {
	param
	value int64
}

// ParamInt64 declares a parameter that is a whole number.
func ParamInt64(name string) *Int64Param {
	return &Int64Param{param: param{name: name, kind: kindInt64}}
}

// Required makes it a mistake of the job to leave the parameter out.
func (p *Int64Param) Required() *Int64Param { p.required = true; return p }

// Default gives the value of a job that leaves the parameter out.
func (p *Int64Param) Default(v int64) *Int64Param { p.fallback, p.json = v, jsonInt(v); return p }

// Value returns the value, 0 where none was given.
func (p *Int64Param) Value() int64 { return p.value }

func (p *Int64Param) bind(f frame, d *descriptor, rows int) bool {
	c := Int64Column{values[int64]{column: column{kind: p.kind}}}
	if !c.bind(f, d, rows) {
		return false
	}
	p.given, p.value = !c.Null(Row{}), c.Of(Row{})
	return true
}

// Float64Param is a floating-point number.
type Float64Param struct {
	param
	value float64
}

// ParamFloat64 declares a parameter that is a floating-point number.
func ParamFloat64(name string) *Float64Param {
	return &Float64Param{param: param{name: name, kind: kindFloat64}}
}

// Required makes it a mistake of the job to leave the parameter out.
func (p *Float64Param) Required() *Float64Param { p.required = true; return p }

// Default gives the value of a job that leaves the parameter out; it must be finite.
func (p *Float64Param) Default(v float64) *Float64Param {
	p.fallback, p.json = v, jsonFloat(v)
	return p
}

// Value returns the value, 0 where none was given.
func (p *Float64Param) Value() float64 { return p.value }

func (p *Float64Param) bind(f frame, d *descriptor, rows int) bool {
	c := Float64Column{values[float64]{column: column{kind: p.kind}}}
	if !c.bind(f, d, rows) {
		return false
	}
	p.given, p.value = !c.Null(Row{}), c.Of(Row{})
	return true
}

// BoolParam is a truth value.
type BoolParam struct {
	param
	value bool
}

// ParamBool declares a parameter that is a truth value.
func ParamBool(name string) *BoolParam {
	return &BoolParam{param: param{name: name, kind: kindBool}}
}

// Required makes it a mistake of the job to leave the parameter out.
func (p *BoolParam) Required() *BoolParam { p.required = true; return p }

// Default gives the value of a job that leaves the parameter out.
func (p *BoolParam) Default(v bool) *BoolParam { p.fallback, p.json = v, jsonBool(v); return p }

// Value returns the value, false where none was given.
func (p *BoolParam) Value() bool { return p.value }

func (p *BoolParam) bind(f frame, d *descriptor, rows int) bool {
	c := BoolColumn{values[byte]{column: column{kind: p.kind}}}
	if !c.bind(f, d, rows) {
		return false
	}
	p.given, p.value = !c.Null(Row{}), c.Of(Row{})
	return true
}

// StringParam is a text.
type StringParam struct {
	param
	value string
}

// ParamString declares a parameter that is a text.
func ParamString(name string) *StringParam {
	return &StringParam{param: param{name: name, kind: kindString}}
}

// Required makes it a mistake of the job to leave the parameter out.
func (p *StringParam) Required() *StringParam { p.required = true; return p }

// Default gives the value of a job that leaves the parameter out.
func (p *StringParam) Default(v string) *StringParam { p.fallback, p.json = v, jsonString(v); return p }

// Value returns the value, empty where none was given.
func (p *StringParam) Value() string { return p.value }

func (p *StringParam) bind(f frame, d *descriptor, rows int) bool {
	c := StringColumn{column: column{kind: p.kind}}
	if !c.bind(f, d, rows) {
		return false
	}
	p.given, p.value = !c.Null(Row{}), c.Of(Row{})
	return true
}
