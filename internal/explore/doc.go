// Package explore tests the write protocol with faults in every order. Everything that a journal
// does goes through its HTTP client. A Network in its place holds every request, and the test
// decides when it is delivered, and whether it or its response is lost, it is delayed, or its
// sender crashes.
//
// The tests of this package run journals in a bubble of testing/synctest, with the engine inside.
// So a test knows when every journal waits for a response, and time passes only when nothing else
// can happen. A schedule is exact and repeatable, even with hours of waiting, and nothing sleeps.
package explore
