// Package harness runs scenarios of the specification through the engine: the same
// batches, routers, inboxes and operators as a job, driven step by step instead of by
// sources. It has no semantics of its own: what a scenario shows is what a job does.
//
// conformance and job tests call it; nothing in it runs in a job.
package harness
