// Package embedded is a DynamoDB within your process: the operations, expressions, PartiQL, limits,
// errors and consumed capacity of the service, on data in memory or in a folder.
//
//	engine, err := embedded.OpenMemory()
//	if err != nil { … }
//	defer engine.Close()
//	client := dynamodb.NewFromConfig(engine.AWSConfig())
//
// The client of the AWS SDK then talks to the engine by function calls. Other programs can be
// served over HTTP: an Engine is an http.Handler, and Serve and Server run a server. There is no
// authentication: any signature is taken.
//
// # What it promises
//
// A write that was acknowledged is on disk (of an engine in a folder), together with its entries in
// the indexes; a transaction is there whole or not at all; two conditional writes of one item never
// both succeed. Reads see every write acknowledged before, also those that ask for eventual
// consistency. Concurrent commits share syncs.
//
// A Scan shows items in an order that stays the same but has no meaning, as in DynamoDB; a Query in
// the order of the sort key.
//
// Requests are checked in DynamoDB's order and refused in its words. Where its regions have
// different words, as after a change of the service that has not reached all of them, the engine
// has the newer ones.
//
// # Bad storage
//
// The first error of an engine's files (no room, a failed write or sync, a damaged table) ends it:
// every request fails with ErrStorageFailed, those under way too, Serve returns it, and nothing is
// changed any more. What was answered is there when the folder is opened again after the repair; a
// write without an answer may be. Memory and a few goroutines of a failed engine go with the
// process.
//
// A folder whose files are damaged is refused. One changed bit is seen in every part of the logs
// and of the MANIFEST that holds data, in tables when they are read. What can't be told from the
// end of a write that a crash cut short is cut off: larger damage within the last syncs of a log
// that was not closed, or in the last record of a MANIFEST, and logs that are missing or end too
// early.
//
// A read waits until the writes of others that it may have seen are synced, so that no crash takes
// away what a reader was shown.
//
// # Where it differs from the service
//
// Tables can be used and dropped at once; only an index added to a table takes time, as it is
// filled in the background. Items that have expired are deleted within minutes instead of days.
// There are no streams, backups, global tables or imports and exports: their operations answer
// UnknownOperationException, and parameters about them are ignored.
package embedded
