// Package stream is the vocabulary of the engine: event time, keys, columns and
// the batches of records that flow between tasks.
//
// It decides nothing and does no I/O. Everything in the engine may import it; it
// imports nothing of ours.
package stream
