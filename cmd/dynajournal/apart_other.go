//go:build !unix

package main

import "syscall"

// apart has nothing to set here.
func apart() *syscall.SysProcAttr { return nil }
