// Package engine runs one job: it reads, times, groups, computes and writes.
package engine
