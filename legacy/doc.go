// Package legacy reads, writes and deletes journals in the layouts of the generations before Akka's plug-in 1.0: the
// hash-key-only layout of 0.3 (2014), and the naive model that every generation describes as what it left. It is for taking
// such journals over: for services that still live with them, and as the source of a migration to the current layout.
//
// Its API is that of package dynajournal: Recover replays and hands out the Writer, which alone appends and deletes. What the
// layouts can't have is an error of its own kind (ErrNotInLayout), never something less: an atomic write of several events
// in any of them, marking and confirmations where there is no attribute for it.
//
// docs/layouts.md says what each layout can and can't do, what protects one writer from another, and what it costs.
package legacy
