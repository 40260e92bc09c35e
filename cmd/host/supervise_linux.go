package main

import "syscall"

// endWithParent has the kernel end the job's process when the supervisor dies.
func endWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
