// Package simulate runs long random histories on journals, with random faults: several processes,
// writers that were overtaken and continue, atomic writes of all sizes, deletions, purges,
// snapshots, cancelled calls, paused processes, requests and responses that are lost or late,
// rejections, unprocessed items, responses that are not from DynamoDB, machines that sleep, wrong
// clocks, copies from another journal, repairs, expiry, and restarts of the engine. In some shared
// journals a JVM, emulated by internal/jvm, takes turns with Go: Go's calls on an entity end or
// crash, and then the JVM starts, writes, deletes, saves and stops. The ledger of internal/explore
// is the oracle.
//
// The package contains only tests. A history is drawn by rapid, so a failure shrinks. The faults of
// each request follow from a seed and the request itself, and everything runs in a bubble of
// testing/synctest, so a history can be repeated.
package simulate
