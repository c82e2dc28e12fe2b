// Package legacy reads, writes and deletes journals in the layouts of the versions before 1.0 of
// Akka's plug-in: the hash-key-only layout of 0.3 (2014), and the naive layouts that every version
// names as its predecessor. Use it to take over such journals: in services that still run on them,
// and as the source of a migration to the current layout.
//
// Its API is that of package dynajournal: Recover replays the events and returns the Writer, which
// alone appends and deletes. An operation that a layout does not have returns [ErrNotInLayout] and
// does nothing instead: an atomic write of several events in any of them, marking and confirmations
// where there is no attribute for them.
//
// docs/layouts.md describes what each layout can do, how it protects one writer from another, and
// what it costs.
package legacy
