// Package watermark decides how far event time has advanced: generators make
// watermarks from timestamps, combiners join those of several inputs, and alignment
// says who is too far ahead to read on. It starts no goroutine and reads no clock; the
// source task and the keyed task call it.
//
//	generator.go  what one split's records say about time (S3–S5)
//	output.go     what of that is sent, and the idle mark (S6, S10, S11)
//	idleness.go   when a quiet split no longer counts (S8, S9)
//	combine.go    several inputs: minimum (S20) and valve (S14–S19)
//	advance.go    a minimum that goes on with the clock (S16a)
//	align.go      readers and splits that wait for each other (S22–S27)
package watermark
