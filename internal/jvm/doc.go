// Package jvm reads and writes a journal and its snapshots as a JVM service does with the Pekko
// plug-in 1.1.0, for tests only. A test can use it where no JVM can run: inside a bubble of virtual
// time, or many thousand times. Its tests compare it with the items and the results of the real
// plug-in. The tests of package interop run the same scripts with both.
//
// It shares no code with the journal for keys, items and marks, so that neither can hide a mistake
// of the other. It does not handle faults: a call fails with its first request that fails.
package jvm
