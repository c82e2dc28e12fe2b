// Package testsize chooses the size of tests. The default keeps "go test ./..." within a minute and
// a half; with the build tag long the tests run at full size, as CI runs them.
package testsize

// Of returns long if the tests are built with the tag long, and otherwise short. The values are
// usually numbers of runs, events or entities, or durations.
func Of[T any](short, long T) T {
	if Long {
		return long
	}
	return short
}
