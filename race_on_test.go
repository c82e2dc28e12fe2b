//go:build race

package dynajournal_test

const underRace = true
