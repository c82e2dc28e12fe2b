// Package testseed fixes the seeds of random tests, so that a commit gets the same verdict each
// time. .ci/explore sets other seeds on the command line.
package testseed

import "flag"

// fixed is the seed of all random tests, unless the command line has another one.
const fixed = 1

// Flag defines a flag for the seed of a package's random tests. Defaults to a fixed seed.
func Flag(name string) *uint64 {
	return flag.Uint64(name, fixed, "seed of the random tests")
}
