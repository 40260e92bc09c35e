// Package tidemark is the SDK for plug-ins written in Go: user-defined aggregates
// over windows, compiled to WebAssembly.
//
// An author declares the columns that the aggregate reads and answers, writes three
// methods on an accumulator type, and registers it:
//
//	var (
//		price = tidemark.Float64("price")   // an input column
//		total = tidemark.OutFloat64("total") // an output column
//	)
//
//	type sum struct{ total float64 }
//
//	func (s *sum) Add(r tidemark.Row) error      { s.total += price.Of(r); return nil }
//	func (s *sum) Merge(o *sum) error            { s.total += o.total; return nil }
//	func (s *sum) Result(w *tidemark.Out) error  { total.Set(w, s.total); return nil }
//
//	var plugin = tidemark.FixedAggregate[sum](tidemark.Spec{
//		Name: "sum", Version: "1.0.0",
//		Inputs:  []tidemark.Input{price},
//		Outputs: []tidemark.Output{total},
//		OrderInsensitive: true,
//	})
//
//	func main() {}
//
// The host calls with batches of columns that lie in the guest's memory, the frames
// of abi/SPEC.md; handles such as price read them in place. Accumulators belong to
// the host between any two calls, so whatever shall survive a call stands in the
// accumulator and nowhere else. There is no clock, no randomness and no outside:
// the same records must give the same answers.
//
// Three ways to say no. An error from a method refuses what is being worked on, and
// its text reaches the job's owner. A panic ends the instance, and the host goes on
// with a fresh one. A mistake in a declaration panics when the module starts, hence
// in `tidemark plugin build`.
//
// In a plain `go test` the same aggregate is driven by Twin, a host in miniature.
//
// The package imports nothing but the standard library, and little of that: it is
// part of every module. raw_wasip1.go is the only file that knows WebAssembly,
// raw_native.go its twin for tests.
package tidemark
