// Package explore tests the write protocol with faults in every order. A journal does everything
// through its HTTP client. A Network replaces that client, and each request waits there until the
// test decides when it is delivered, whether it is delayed, whether it or its response is lost, and
// whether its sender crashes.
//
// The tests of this package run journals in a bubble of testing/synctest, with the engine inside.
// So a test knows when every journal waits for a response, and time passes only when nothing else
// can happen. A schedule is exact and repeatable, even with hours of waiting, and no test sleeps.
package explore
