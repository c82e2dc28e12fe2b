// Package projections runs random histories on groups of package projection, with random faults:
// writers that append, delete, purge and start again; several processes with several groups, at
// least once and transactional, from streams, sweeps and triggers; processes that are killed,
// paused, stopped, and asleep for longer than a stream retains records; claims and leases that are
// taken over wrongly; journals that are shared with a JVM, which writes several events at the same
// time, loses some, and deletes and purges step by step; handlers that fail, panic and take too
// long; and faults of every request.
//
// After each round all committed events must have been handled: see oracle_test.go.
//
// The package contains only tests.
package projections
