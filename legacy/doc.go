// Package legacy reads, writes and deletes journals in the layouts of the versions before 1.0 of
// Akka's plug-in. These are the hash-key-only layout of 0.3 (2014), and the naive layouts, which
// every version names as its predecessor. Use this package in services that still have such
// journals, and as the source of a migration to the current layout.
//
// Its API resembles the API of package dynajournal: Recover replays the events and returns the
// Writer, which alone appends and deletes. An operation that a layout does not support does nothing
// and returns [ErrNotInLayout]. No layout supports an atomic write of several events. The layout
// Naive has no attributes for marks and confirmations.
//
// docs/formats.md describes the operations of each layout, its protection of one writer from
// another, and its costs.
package legacy
