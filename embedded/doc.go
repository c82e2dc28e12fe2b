// Package embedded implements DynamoDB within your process: the operations, expressions, PartiQL,
// limits, errors and consumed capacity of the service, on data in memory or in a folder.
//
//	engine, err := embedded.OpenMemory()
//	if err != nil { … }
//	defer engine.Close()
//	client := dynamodb.NewFromConfig(engine.AWSConfig())
//
// The client of the AWS SDK then calls the engine without sockets. Other programs can use it over
// HTTP: an Engine is an http.Handler, and Serve and Server run a server. There is no
// authentication: any signature is accepted.
//
// # Guarantees
//
// An acknowledged write is on disk (if the engine has a folder), together with its index entries. A
// transaction is stored as a whole or not at all. Of two conditional writes of one item, at most
// one succeeds. Reads see all writes acknowledged before them, even eventually consistent reads.
// Concurrent commits share syncs.
//
// A Scan returns items in an order that stays the same but has no meaning, as in DynamoDB. A Query
// returns them in the order of the sort key.
//
// Requests are checked in DynamoDB's order, and refused with its messages. Where messages differ
// between regions, as during a change of the service, the engine uses the newer ones. The file of
// each operation lists its checks.
//
// # Storage errors
//
// The first error of an engine's files (a full disk, a failed write or sync, a damaged table) stops
// the engine. All requests then fail with [ErrStorageFailed], including requests in flight, and
// Serve returns that error. The stored data no longer changes. When the folder is opened again
// after the repair, it has all acknowledged writes. A write without a response may or may not be
// stored. Some memory and a few goroutines of a failed engine remain until the process ends.
//
// A folder with damaged files is refused. A single changed bit is detected in every part of the
// logs and of the MANIFEST that holds data, and in tables when they are read. Damage that looks
// like a write that a crash interrupted is not reported, and its data is dropped: larger damage
// within the last syncs of a log that was not closed, or in the last record of a MANIFEST, and logs
// that are missing or too short.
//
// A read returns only after every write that it may have seen is synced. A crash therefore does not
// undo data that a client has read.
//
// # Streams
//
// A table with a stream gets a record of each change of an item, in the same commit as the change:
// a crash leaves no write without its record and no record without its write. The records of an
// item are in the order of its changes. A record can be read as soon as it is committed, and for 24
// hours. A shard is replaced after four hours, and split when it gets more than 1,000 records a
// second, or by [Engine.SplitShards].
//
// # Differences from the service
//
// Tables can be used and dropped at once. Only an index that is added to a table takes time, while
// it is backfilled. Expired items are deleted within minutes instead of days. There are no backups,
// no global tables of version 2017, no imports and no exports: their operations fail with
// UnknownOperationException, and parameters about them are ignored. DescribeContinuousBackups
// reports that backups are off. Replicas that UpdateTable adds are stored and described, but get no
// items.
package embedded
