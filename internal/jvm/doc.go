// Package jvm reads and writes a journal and its snapshots as a JVM service does with the Pekko
// plug-in 1.1.0, for tests only. It lets a test have a JVM beside the journal in Go where none can
// be started: inside a bubble of virtual time, or many thousand times. Its tests hold it to the
// items that the real plug-in left and to what that answered; those in interop play the same
// scripts with both.
//
// It shares no code with the journal for keys, items and marks, so that neither can hide a mistake
// of the other. It has nothing against faults: a call fails with its first request that fails.
package jvm
