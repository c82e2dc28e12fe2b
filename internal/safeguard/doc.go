// Package safeguard names the safeguards of the write protocol, so that tests can show that each is
// needed. In a normal build every one is a constant true, and the compiler removes the choice.
// Built with the tag mutants, the one that the environment variable DYNAJOURNAL_WITHOUT names is
// off: then the tests that killers_test.go names for it must fail.
package safeguard
