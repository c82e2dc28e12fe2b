// Package safeguard has a switch for each safeguard of the write protocol, so that tests can show
// that each is needed. In a normal build each is a constant true, and the compiler removes the
// switch. Built with the tag mutants, the safeguard named by the environment variable
// DYNAJOURNAL_WITHOUT is off: then the tests that killers_test.go names for it must fail.
package safeguard
