// Package checkpoint keeps the checkpoints of one job: bytes, files, and which of them
// count. It knows sections, not what they mean: the engine fills them and reads them.
//
//	Log      log-000000000007            claim: generation 7 begins
//	         log-000000000008            checkpoint 21: what it is, where its sections are
//	         log-000000000009            checkpoint 22
//	data     data-000000000007-000000000021-0000   the sections of 21
//	         data-000000000007-000000000022-0000   those of 22 that 21 did not have yet
//
// The log is a row of small objects with consecutive numbers, each put under its name
// only if nobody has it yet. That put is the one decision there is: a checkpoint either
// has an entry, and then all that it names is durable, or it does not exist. Whoever
// wants to write claims first, which takes a number, too. So of two processes that
// believe to run the same job the older one finds its next number taken: it is fenced.
//
// FORMAT.md describes the bytes. Where they are kept is a Store: a local directory here,
// object storage in package s3. Retention is Log.Retain's.
//
// The coordinator of a job calls a Log; commands that list and inspect open one and never
// claim. Nothing here starts a goroutine or reads a clock.
package checkpoint
