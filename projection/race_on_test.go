//go:build race

package projection_test

const underRace = true
