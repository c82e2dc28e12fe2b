//go:build !unix

package main

import "syscall"

// apart has nothing to set here.
func ownProcessGroup() *syscall.SysProcAttr { return nil }
