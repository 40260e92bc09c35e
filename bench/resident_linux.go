package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// residentOf is the resident memory in bytes of a process and of its children: a job with
// plug-ins runs in a child.
func residentOf(pid int) (int64, error) {
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, err
	}
	fields := bytes.Fields(statm)
	if len(fields) < 2 {
		return 0, fmt.Errorf("/proc/%d/statm has %q", pid, statm)
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return 0, err
	}
	total := pages * int64(os.Getpagesize())
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return 0, err
	}
	for _, t := range threads {
		children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, t.Name()))
		if err != nil {
			return 0, err
		}
		for _, c := range bytes.Fields(children) {
			child, err := strconv.Atoi(string(c))
			if err != nil {
				return 0, err
			}
			n, err := residentOf(child)
			if err != nil {
				return 0, err
			}
			total += n
		}
	}
	return total, nil
}
