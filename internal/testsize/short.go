//go:build !long

package testsize

// Long reports whether the tests are built with the tag long.
const Long = false
