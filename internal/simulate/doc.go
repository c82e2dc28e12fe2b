// Package simulate plays long random histories on journals, with everything going wrong at random:
// several processes, writers that were left behind and go on, atomic writes of all sizes,
// deletions, purges, snapshots, cancelled calls, processes that are paused, answers and requests
// that are lost or late, refusals, left-overs, answers that are not DynamoDB's, machines that
// sleep, wrong clocks, copies from another journal, repairs, expiry, and restarts of the engine. In
// some shared journals a JVM, emulated by internal/jvm, takes turns with all that: what Go does
// with an entity ends or crashes, then the JVM starts, writes, deletes, saves and stops. The ledger
// of internal/explore knows what must hold.
//
// It has tests only. A history is drawn by rapid, so a failure shrinks; what becomes of each request follows from a seed and
// the request itself, and all of it runs in a bubble of testing/synctest, so a history can be repeated.
package simulate
