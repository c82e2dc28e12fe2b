// Package embedded is a DynamoDB within your process: the operations, expressions, PartiQL, limits,
// errors and consumed capacity of the service, on data in memory or in a folder.
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
// Requests are checked in DynamoDB's order, and refused with its messages. Where its regions have
// different messages, as during a change of the service, the engine has the newer ones. The file of
// each operation lists its checks.
//
// # Storage errors
//
// The first error of an engine's files (a full disk, a failed write or sync, a damaged table) ends
// it: all requests fail with ErrStorageFailed, including those in flight, Serve returns it, and
// nothing changes any more. Acknowledged writes are there when the folder is opened again after the
// repair. A write without a response may be. Some memory and a few goroutines of a failed engine
// remain until the process ends.
//
// A folder with damaged files is refused. A single changed bit is detected in every part of the
// logs and of the MANIFEST that holds data, and in tables when they are read. Damage that can't be
// distinguished from a write that a crash interrupted is dropped: larger damage within the last
// syncs of a log that was not closed, or in the last record of a MANIFEST, and logs that are
// missing or too short.
//
// A read waits until the writes of others that it may have seen are synced. A crash therefore does
// not undo what a client has read.
//
// # Streams
//
// A table with a stream has a record for each change of an item, in the commit of the change: a
// crash leaves no write without its record and no record without its write. The records of an item
// have the order of its changes. A record can be read as soon as it is committed, and for 24 hours.
// A shard is replaced after four hours, and split when it gets more than 1,000 records a second, or
// by [Engine.SplitShards].
//
// # Differences from the service
//
// Tables can be used and dropped at once. Only an index that is added to a table takes time, while
// it is backfilled. Expired items are deleted within minutes instead of days. There are no backups,
// global tables of version 2017, imports and exports: their operations fail with
// UnknownOperationException, and parameters about them are ignored. DescribeContinuousBackups
// reports that backups are off. Replicas that UpdateTable adds are stored and shown, and get no
// items.
package embedded
