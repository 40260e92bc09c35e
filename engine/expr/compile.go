package expr

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"tidemark/engine/stream"
)

// Limits of an expression. Its cost for a record grows with its length, and by nothing
// else.
const (
	maxLength = 4096
	maxDepth  = 100 // of nesting, as in a+a+a; the compiler and the evaluation are recursive
	// maxNodes bounds the fields, literals and operators: each has a vector of its own.
	maxNodes = 256
)

// language is CEL with the fields of a schema as its variables, and without macros:
// they are its loops.
type language struct {
	env    *cel.Env
	schema []stream.Field
}

func newLanguage(schema []stream.Field) (*language, error) {
	opts := []cel.EnvOption{
		cel.StdLib(), cel.ClearMacros(), cel.CrossTypeNumericComparisons(true),
		cel.ParserExpressionSizeLimit(maxLength), cel.ParserRecursionLimit(maxDepth),
	}
	for _, f := range schema {
		if t := celType(f.Kind); t != nil {
			opts = append(opts, cel.Variable(f.Name, t))
		}
	}
	env, err := cel.NewCustomEnv(opts...)
	if err != nil {
		return nil, fmt.Errorf("expressions over this schema: %w", err)
	}
	return &language{env, schema}, nil
}

// celType is the type of a field that may be null. Timestamps may be as they are.
func celType(k stream.Kind) *cel.Type {
	switch k {
	case stream.Int64:
		return cel.NullableType(cel.IntType)
	case stream.Float64:
		return cel.NullableType(cel.DoubleType)
	case stream.Bool:
		return cel.NullableType(cel.BoolType)
	case stream.String:
		return cel.NullableType(cel.StringType)
	case stream.Timestamp:
		return cel.TimestampType
	}
	return nil // a column that only results have
}

// compile turns a text into a node. use gives a field a number in chunk.cols.
func (l *language) compile(text string, use func(field int) int) (node, *Problem) {
	checked, issues := l.env.Compile(text)
	if errs := issues.Errors(); len(errs) > 0 {
		e := errs[0]
		return nil, &Problem{Line: max(1, e.Location.Line()), Column: max(1, e.Location.Column()+1), Message: l.plain(e.Message)}
	}
	c := compiler{language: l, ast: checked.NativeRep(), use: use}
	return c.node(checked.NativeRep().Expr())
}

var (
	noOverload = regexp.MustCompile(`^found no matching overload for '(.+)' applied to '(.*)'$`)
	undeclared = regexp.MustCompile(`^undeclared reference to '(.+)' \(in container ''\)$`)
	wrapped    = regexp.MustCompile(`wrapper\((\w+)\)`)
	celNumbers = regexp.MustCompile(`\b(int|double)\b`)
)

// plain says in our words what cel-go found.
func (l *language) plain(message string) string {
	if m := undeclared.FindStringSubmatch(message); m != nil {
		var names []string
		for _, f := range l.schema {
			names = append(names, f.Name)
		}
		if len(names) > 10 {
			names = append(names[:10], "…")
		}
		return fmt.Sprintf("there is no field or function %s; fields: %s", m[1], strings.Join(names, ", "))
	}
	if m := noOverload.FindStringSubmatch(message); m != nil {
		fix := ""
		if numbers := plainTypes(m[2]); strings.Contains(numbers, "int64") && strings.Contains(numbers, "float64") {
			fix = "; make them one type: write 2.0 for 2, or use double(…) or int(…)"
		}
		name := strings.Trim(m[1], "_@")
		if name == "?_:" {
			name = "? :"
		}
		return fmt.Sprintf("%s does not take %s%s", name, plainTypes(m[2]), fix)
	}
	message, _, _ = strings.Cut(message, " expecting {")
	return strings.Replace(plainTypes(message), "Syntax error: ", "syntax error: ", 1)
}

// plainTypes writes CEL's types with the names that schemas use.
func plainTypes(s string) string {
	s = wrapped.ReplaceAllString(s, "$1")
	s = strings.NewReplacer("google.protobuf.Timestamp", "timestamp", "google.protobuf.Duration", "duration", "null_type", "null").Replace(s)
	return celNumbers.ReplaceAllStringFunc(s, func(t string) string {
		if t == "int" {
			return "int64"
		}
		return "float64"
	})
}

// compiler turns a checked expression into nodes. Types fit, so what is left to refuse
// is what columns do not have.
type compiler struct {
	*language
	ast   *ast.AST
	use   func(field int) int
	nodes int
}

func (c *compiler) problem(e ast.Expr, format string, args ...any) *Problem {
	at := c.ast.SourceInfo().GetStartLocation(e.ID())
	return &Problem{Line: max(1, at.Line()), Column: at.Column() + 1, Message: fmt.Sprintf(format, args...)}
}

func (c *compiler) node(e ast.Expr) (node, *Problem) {
	if c.nodes++; c.nodes > maxNodes {
		return nil, c.problem(e, "the expression has more than %d fields, values and operators", maxNodes)
	}
	switch e.Kind() {
	case ast.IdentKind:
		return c.field(e, e.AsIdent())
	case ast.SelectKind:
		if r, ok := c.ast.ReferenceMap()[e.ID()]; ok && r.Name != "" { // a.b as the name of a field
			return c.field(e, r.Name)
		}
		return nil, c.problem(e, "fields of fields are named in the schema, by path")
	case ast.LiteralKind:
		return c.literal(e, e.AsLiteral())
	case ast.CallKind:
		return c.call(e, e.AsCall())
	case ast.ListKind:
		return nil, c.problem(e, "a list can only stand behind in")
	}
	return nil, c.problem(e, "maps and messages are not available")
}

func (c *compiler) field(e ast.Expr, name string) (node, *Problem) {
	i := slices.IndexFunc(c.schema, func(f stream.Field) bool { return f.Name == name })
	if i < 0 { // the name of a type, such as int
		return nil, c.problem(e, "%s is not a field", name)
	}
	k, _ := kindOf(c.schema[i].Kind)
	return &fieldNode{out: out{k: k}, field: c.use(i)}, nil
}

func (c *compiler) literal(e ast.Expr, v ref.Val) (node, *Problem) {
	switch v := v.(type) {
	case types.Int:
		return intConst(intKind, int64(v)), nil
	case types.Double:
		return &constNode{out: out{k: floatKind, v: vector{floats: []float64{float64(v)}}}}, nil
	case types.Bool:
		return &constNode{out: out{k: boolKind, v: vector{bools: []bool{bool(v)}}}}, nil
	case types.String:
		return &constNode{out: out{k: textKind, v: vector{texts: [][]byte{[]byte(v)}}}}, nil
	case types.Null:
		return intConst(nullKind, 0), nil
	}
	return nil, c.problem(e, "values of type %s are not available", v.Type().TypeName())
}

func (c *compiler) call(e ast.Expr, call ast.CallExpr) (node, *Problem) {
	name, exprs := call.FunctionName(), call.Args()
	if call.IsMemberFunction() {
		exprs = append([]ast.Expr{call.Target()}, exprs...)
	}
	if name == operators.In {
		return c.member(e, exprs[0], exprs[1])
	}
	args := make([]node, len(exprs))
	for i, x := range exprs {
		var p *Problem
		if args[i], p = c.node(x); p != nil {
			return nil, p
		}
	}
	if p := c.nulls(e, name, args); p != nil {
		return nil, p
	}
	if n := operator(name, args); n != nil {
		return n, nil
	}
	return c.function(e, name, args, exprs)
}

// nulls refuses the literal null where it would always give the same. CEL's checker lets
// it through next to timestamps.
func (c *compiler) nulls(e ast.Expr, name string, args []node) *Problem {
	isNull := func(n node) bool { return n.kind() == nullKind }
	switch {
	case name == operators.Equals, name == operators.NotEquals, !slices.ContainsFunc(args, isNull):
		return nil
	case name == operators.Conditional && !(isNull(args[1]) && isNull(args[2])):
		return nil
	}
	return c.problem(e, "null can be compared with == and !=, and be one side of ? :")
}

// operator makes the node of an operator, nil if there is none for these types.
func operator(name string, x []node) node {
	switch name {
	case operators.LogicalAnd, operators.LogicalOr:
		return &logic{out: out{k: boolKind}, decides: name == operators.LogicalOr, l: x[0], r: x[1]}
	case operators.LogicalNot:
		return &not{out: out{k: boolKind}, x: x[0]}
	case operators.Conditional:
		k := x[1].kind()
		if k == nullKind {
			k = x[2].kind()
		}
		return &conditional{out: out{k: k}, cond: x[0], yes: x[1], no: x[2]}
	case operators.Equals, operators.NotEquals:
		not := name == operators.NotEquals
		if x[0].kind() == nullKind {
			x[0], x[1] = x[1], x[0]
		}
		switch {
		case x[0].kind() == nullKind:
			return &constNode{out: out{k: boolKind, v: vector{bools: []bool{!not}}}}
		case x[1].kind() == nullKind:
			return &nullTest{out: out{k: boolKind}, not: not, x: x[0]}
		}
		return &equality{out: out{k: boolKind}, not: not, l: x[0], r: x[1]}
	case operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals:
		return &ordering{out: out{k: boolKind}, op: strings.Trim(name, "_"), l: x[0], r: x[1]}
	case operators.Negate:
		return &negation{out: out{k: x[0].kind()}, x: x[0]}
	case operators.Add, operators.Subtract, operators.Multiply, operators.Divide, operators.Modulo:
		l, r := x[0].kind(), x[1].kind()
		if l == textKind {
			return &concat{out: out{k: textKind}, l: x[0], r: x[1]}
		}
		k := l
		switch {
		case l == timeKind && r == timeKind:
			k = spanKind
		case r == timeKind:
			k = timeKind
		}
		return &arithmetic{out: out{k: k}, op: name[1], l: x[0], r: x[1]}
	}
	return nil
}

func (c *compiler) function(e ast.Expr, name string, x []node, exprs []ast.Expr) (node, *Problem) {
	k := x[0].kind()
	switch {
	case name == "size" && k == textKind:
		return &size{out: out{k: intKind}, x: x[0]}, nil
	case textTestOf(name) != nil && k == textKind:
		return &textTest{out: out{k: boolKind}, test: textTestOf(name), l: x[0], r: x[1]}, nil
	case name == "matches":
		pattern, p := c.text(exprs[1], name)
		if p != nil {
			return nil, p
		}
		re, err := regexp.Compile(pattern)
		if err != nil {
			return nil, c.problem(exprs[1], "%v", err)
		}
		return &match{out: out{k: boolKind}, x: x[0], re: re}, nil
	case name == "string" && k != spanKind:
		if k == textKind {
			return x[0], nil
		}
		return &toText{out: out{k: textKind}, x: x[0]}, nil
	case name == "int" && k != spanKind:
		if k == intKind {
			return x[0], nil
		}
		return &toInt{out: out{k: intKind}, x: x[0]}, nil
	case name == "double":
		if k == floatKind {
			return x[0], nil
		}
		return &toFloat{out: out{k: floatKind}, x: x[0]}, nil
	case name == "timestamp" && k == textKind:
		text, p := c.text(exprs[0], name)
		if p != nil {
			return nil, p
		}
		at, err := time.Parse(time.RFC3339, text)
		if err != nil || at.Nanosecond()%1e6 != 0 {
			return nil, c.problem(exprs[0], "%q is not a time of RFC 3339 in whole milliseconds, such as 2018-01-31T00:00:00Z", text)
		}
		return intConst(timeKind, at.UnixMilli()), nil
	case name == "duration" && k == textKind:
		text, p := c.text(exprs[0], name)
		if p != nil {
			return nil, p
		}
		d, err := time.ParseDuration(text)
		if err != nil || d%time.Millisecond != 0 {
			return nil, c.problem(exprs[0], "%q is not a duration in whole milliseconds, such as 1h30m", text)
		}
		return intConst(spanKind, d.Milliseconds()), nil
	case k == timeKind && calendarPart(name) != nil:
		zone := time.UTC
		if len(x) > 1 {
			text, p := c.text(exprs[1], name)
			if p != nil {
				return nil, p
			}
			var err error
			if zone, err = time.LoadLocation(text); err != nil || text == "" || text == "Local" {
				return nil, c.problem(exprs[1], "%q is not the name of a time zone, such as Europe/Berlin", text)
			}
		}
		return &calendar{out: out{k: intKind}, x: x[0], zone: zone, part: calendarPart(name)}, nil
	case k == spanKind && spanUnit(name) != 0:
		return &arithmetic{out: out{k: intKind}, op: '/', l: x[0], r: intConst(intKind, spanUnit(name))}, nil
	}
	return nil, c.problem(e, "%s of %s is not available; functions: contains, double, duration, endsWith, int, matches, size, startsWith, string, timestamp, and getHours and the like", name, k)
}

// text is an argument that is read when the expression is compiled.
func (c *compiler) text(e ast.Expr, name string) (string, *Problem) {
	if e.Kind() == ast.LiteralKind {
		if s, ok := e.AsLiteral().(types.String); ok {
			return string(s), nil
		}
	}
	return "", c.problem(e, "%s takes a text that is written out here, not one that is computed", name)
}

// member makes x in [a, b, …].
func (c *compiler) member(e, of, list ast.Expr) (node, *Problem) {
	x, p := c.node(of)
	if p != nil {
		return nil, p
	}
	if list.Kind() != ast.ListKind {
		return nil, c.problem(list, "a list such as [1, 2] must stand behind in")
	}
	m := &member{out: out{k: boolKind}, x: x, ints: map[int64]bool{}, floats: map[float64]bool{}, texts: map[string]bool{}}
	for _, item := range list.AsList().Elements() {
		n, p := c.node(item)
		if p != nil {
			return nil, p
		}
		v, ok := n.(*constNode)
		switch {
		case !ok:
			return nil, c.problem(item, "the list behind in holds constants only")
		case v.k == nullKind:
			m.null = true
		case v.k != x.kind():
			return nil, c.problem(item, "the list is searched for %s and holds %s", x.kind(), v.k)
		case v.k == floatKind:
			m.floats[v.v.floats[0]] = true
		case v.k == boolKind:
			if v.v.bools[0] {
				m.bools[1] = true
			} else {
				m.bools[0] = true
			}
		case v.k == textKind:
			m.texts[string(v.v.texts[0])] = true
		default:
			m.ints[v.v.ints[0]] = true
		}
	}
	return m, nil
}
