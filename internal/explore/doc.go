// Package explore breaks the write protocol on purpose. All that a journal does goes through its HTTP client, so a Network
// in that place holds every request, and whoever plays the network decides what becomes of it, and when: delivered, its
// answer lost, the request lost, on its way for long, the sender crashed.
//
// The tests of this package run journals in a bubble of testing/synctest, with the engine inside: whoever plays the network
// knows when every journal waits for an answer, and time passes only when nothing else can happen. So a schedule is exact
// and can be repeated, hours of waiting included, and nothing sleeps.
package explore
