//go:build !unix

package main

import "syscall"

// ownProcessGroup returns nil: only Unix systems need the attribute.
func ownProcessGroup() *syscall.SysProcAttr { return nil }
