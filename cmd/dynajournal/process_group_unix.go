//go:build unix

package main

import "syscall"

// apart puts a process into a group of its own: an interrupt from the keyboard, which goes to the
// group, does not reach it.
func ownProcessGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
