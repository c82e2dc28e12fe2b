//go:build unix

package main

import "syscall"

// ownProcessGroup puts a process into its own process group. An interrupt from the keyboard goes to
// the group of this process, so it does not reach the new one.
func ownProcessGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
