package projection

import "time"

// Lease is a change of the right to read a shard of the stream.
type Lease struct {
	// Group is Config.Name.
	Group string
	// Shard is the id of the shard.
	Shard  string
	Change LeaseChange
}

// LeaseChange is the kind of a change of a lease.
type LeaseChange string

const (
	// LeaseGained means that no process had the lease.
	LeaseGained LeaseChange = "gained"
	// LeaseTakenOver means that another process had the lease: it counts as dead, or has more
	// leases than this process.
	LeaseTakenOver LeaseChange = "taken_over"
	// LeaseLost means that another process has taken the lease over.
	LeaseLost LeaseChange = "lost"
	// LeaseReleased means that the group is stopping.
	LeaseReleased LeaseChange = "released"
	// LeaseEnded means that the shard has ended, and that all of its records are done.
	LeaseEnded LeaseChange = "ended"
)

// StreamRead describes a read of a shard of the stream, or a failed attempt to get an iterator for
// it.
type StreamRead struct {
	// Group is Config.Name.
	Group string
	// Shard is the id of the shard.
	Shard string
	// Records is the number of records that were read.
	Records int
	// Duration is the duration of the requests, with the retries of the AWS SDK.
	Duration time.Duration
	// Err is nil, or wraps the error of the AWS SDK and, as far as it is known, the reason: a
	// request error such as dynajournal.ErrThrottled.
	Err error
}
