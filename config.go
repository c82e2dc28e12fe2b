package dynajournal

import (
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/serialization"
)

// Config configures a journal. The zero value of a field is its default. For what all processes
// that use a journal must agree on (names, tables, shards), the defaults are those of the JVM
// plug-ins: docs/configuration.md lists the field for each of their keys.
//
// [Open], [CreateTables] and the other functions that take a Config return an [*ArgumentError] for
// a field that is out of its bounds, before they send anything. They copy the Config: changing it
// later has no effect.
type Config struct {
	// AccessKeyID is the access key of static credentials. It is used if SecretAccessKey is set,
	// too, and then replaces the credentials of AWS. Set both for a local endpoint, which takes
	// any.
	//
	// Defaults to the credentials of AWS.
	AccessKeyID string

	// Adapter converts events before they are stored and after they are read. Set it to keep the
	// types of the program apart from the stored ones, or to read what older versions have stored.
	//
	// Defaults to none.
	Adapter EventAdapter

	// AttemptTimeout limits the duration of one attempt of a request. An attempt that takes longer
	// is made again, within OperationTimeout. Lower it to recover sooner from lost connections;
	// raise it if the network is slow. An attempt that several writers share has a quarter of it.
	// After that each writer's events are sent in a request of their own.
	//
	// From 1 nanosecond to 10 years. Defaults to 4 seconds.
	AttemptTimeout time.Duration

	// AWS is the configuration of the AWS SDK: region, credentials, endpoint, HTTP client. Load it
	// with the SDK's config module for AWS itself, or take it from embedded.Engine. Its retryer is
	// not used: BackoffBase, BackoffCap and Retries configure retries. If its HTTP client is the
	// SDK's own, the journal uses that client's settings, but not its connections: see HTTP.
	//
	// AWS.Region must be set, unless Endpoint or AWS.BaseEndpoint is.
	AWS aws.Config

	// BackoffBase is the longest pause before the first retry. It doubles with each further retry,
	// up to BackoffCap. The length of a pause is random, from zero to its longest, so that clients
	// that were throttled together do not retry together.
	//
	// From 1 nanosecond to 10 years. Defaults to 1 millisecond.
	BackoffBase time.Duration

	// BackoffCap is the longest pause before one of the first Retries retries. Raise it, with
	// OperationTimeout, to spread the retries of many clients over a longer time. Further pauses of
	// a throttled request are up to 64 milliseconds, whatever BackoffCap is.
	//
	// From 1 nanosecond to 10 years. Defaults to 1 second.
	BackoffCap time.Duration

	// ConnectAhead is how many connections Open makes, each by a request for the journal's header,
	// all at the same time. Set it if many entities are recovered right after a start: the first
	// requests then do not wait for TLS handshakes. Each takes one request and one read unit.
	// Connections that can't be made are no error.
	//
	// From 0 to MaxConnections. Defaults to 0: connections are made when they are needed.
	ConnectAhead int

	// DecodeEagerly decodes every event while it is read, and ends the reading with the first that
	// can't be decoded. Set it to find such an event before the events after it are handled.
	//
	// Defaults to false: Event.Payload decodes an event. With an Adapter or upcasters events are
	// decoded while they are read in any case, and one that can't be decoded does not end the
	// reading.
	DecodeEagerly bool

	// Endpoint is the URL of the service. Set it for a service other than AWS, such as DynamoDB
	// Local or a served embedded.Engine. It must be http or https, with a host.
	//
	// Defaults to the endpoint of AWS, and else to AWS's endpoint for the region.
	Endpoint string

	// EventMetadata selects whether events are stored with their time, metadata and tags. Set
	// EventMetadataOn for a journal that is shared with a JVM, which ignores them, and
	// EventMetadataOff to store none of them.
	//
	// Defaults to EventMetadataAuto: on in a native journal.
	EventMetadata EventMetadata

	// FenceWindow is how long a deleted event keeps its sequence number taken, so that a writer
	// that was paused before the deletion can't write there. A writer that was idle for half of it
	// reads the journal before it writes again. A longer window protects against longer pauses;
	// deleted events take up storage for as long.
	//
	// All processes that write to a journal must use the same value, so CreateTables stores it in
	// the journal's header. Another value than the header's is ErrHeaderMismatch. A journal without
	// a header (a JVM made its tables) has the value set here.
	//
	// Whole seconds, from 1 hour ([MinFenceWindow]: a request can be in flight for 15 minutes) to
	// 10 years. Defaults to the header's, and to 24 hours without a header.
	FenceWindow time.Duration

	// GroupCommit selects whether writers share requests.
	//
	// Defaults to GroupCommitAuto.
	GroupCommit GroupCommit

	// HandoverTime is the shortest time in which a JVM can take over a persistence id from a writer
	// of this journal and delete events. It has no effect in a native journal. A writer that was
	// idle for longer checks before it writes whether a JVM has taken over, which takes one request
	// and 3 read units if the last event has up to 4 KB, and a second request if that event was
	// deleted; a writer whose write took longer checks before it acknowledges the write.
	// Lower it if entities move faster than that between Go and the JVM.
	//
	// At least 10 seconds; negative never checks. Defaults to 1 minute.
	HandoverTime time.Duration

	// HoleWait is how long a live query waits for a missing sequence number, in a journal that is
	// shared with a JVM: a JVM stores several events at the same time, so the missing one may still
	// be on its way. It has no effect in a native journal. A longer wait misses fewer events, and
	// delays all that follow a number that stays missing.
	//
	// Up to 10 years; negative does not wait. Defaults to 1 minute.
	HoleWait time.Duration

	// Hooks are called when something happens in the journal, in their order. Use them for metrics
	// and traces.
	//
	// Defaults to none.
	Hooks []Hook

	// HTTP configures connections. It is used if AWS.HTTPClient is nil or the SDK's own client
	// (*awshttp.BuildableClient); with the latter, a field of HTTP that is zero keeps that client's
	// setting, except ConnectTimeout: its default also limits that client's dialer. With an
	// *http.Client, which has settings of its own, a field of HTTP that is set is an error. With an
	// HTTP client of any other type HTTP has no effect.
	//
	// Defaults to the SDK's settings, but for the fields that document another default. The number
	// of connections is MaxConnections.
	HTTP HTTPConfig

	// IDsIndexName is the name of the index that lists the persistence ids of a journal that is
	// shared with a JVM. It must be the name in the JVM's configuration. It has no effect in a
	// native journal.
	//
	// Defaults to "persistence-ids-idx".
	IDsIndexName string

	// JournalName is the first part of every key, so that several journals can share a table. Names
	// that end in -P, -SH, -SL, -ST or -META are refused, as the keys could be those of another
	// journal. A journal with another name is another journal.
	//
	// Defaults to "journal".
	JournalName string

	// JournalTable is the name of the table of events. An ARN is refused.
	//
	// Defaults to "pekko-persistence".
	JournalTable string

	// Logger receives the log records. With slog.New(slog.DiscardHandler) there are none. A logger
	// that takes level debug when the journal is opened also gets the configuration, without
	// credentials, and every attempt of a request.
	//
	// Defaults to slog.Default().
	Logger *slog.Logger

	// MaxBatchBytes is the largest size of an atomic write: the sum of its items in bytes. A larger
	// one is rejected. A reader holds an atomic write in memory as a whole.
	//
	// From 1 to 2,147,483,648. Defaults to 67,108,864 (64 MiB).
	MaxBatchBytes int

	// MaxBatchEvents is the largest number of events in an atomic write. A larger write is
	// rejected.
	//
	// From 1 to 2,147,483,648. Defaults to 10,000.
	MaxBatchEvents int

	// MaxBatchGet is the largest number of keys in a BatchGetItem request. Lower it if a service
	// takes fewer than DynamoDB.
	//
	// From 1 to 100. Defaults to 100.
	MaxBatchGet int

	// MaxBatchWrite is the largest number of items in a BatchWriteItem request. Lower it if a
	// service takes fewer than DynamoDB.
	//
	// From 1 to 25. Defaults to 25.
	MaxBatchWrite int

	// MaxConnections is the largest number of requests in flight, and of connections that are kept.
	// Further requests wait. It also limits how many readings of a persistence id (Recover, Events,
	// Records, Bounds, LoadSnapshot) read their first events at the same time; further ones wait,
	// for as long as their context allows. Raise it for more throughput, at the cost of memory.
	//
	// From 1 to 10,000 ([MaxMaxConnections]). Defaults to 50.
	MaxConnections int

	// MaxItemSize is the largest size of an item in bytes, as DynamoDB counts it. Larger events are
	// rejected, larger snapshots are split. The plug-ins' own limit of 400,000 applies to an
	// estimate by characters, which can be less than what DynamoDB counts.
	//
	// From 1 to 409,600, DynamoDB's limit. Defaults to 409,600.
	MaxItemSize int

	// MaxSnapshotBytes is the largest size of a snapshot in bytes. A snapshot that does not fit
	// into one item is split over several, which a JVM does not read. Set it to 400,000 if a JVM
	// has to read every snapshot.
	//
	// From 1 to 2,147,483,648. Defaults to 67,108,864 (64 MiB).
	MaxSnapshotBytes int

	// OldEventFormat writes events in the format of Akka's plug-in 1.0 and 1.1, so that these
	// versions can read them: one serialized message holds all of an event. Both formats are always
	// read, also in the same journal.
	//
	// Defaults to false.
	OldEventFormat bool

	// OldSnapshotFormat writes snapshots in the format of Akka's plug-in 1.1. Both formats are
	// always read.
	//
	// Defaults to false.
	OldSnapshotFormat bool

	// OperationTimeout limits the duration of a request with all its attempts, and that of an
	// append, from when it is first sent. Before that a request can wait for one of MaxConnections,
	// for as long as its context allows.
	//
	// From 1 nanosecond to 10 years. Defaults to 10 seconds.
	OperationTimeout time.Duration

	// ReplayParallelism is how many partitions (100 sequence numbers each) of a persistence id are
	// read ahead at most, while some of MaxConnections are free, and how many requests of a
	// deletion are in flight. Raise it to replay long histories faster; each partition can take 1
	// MB of memory.
	//
	// From 1 to 10,000. Defaults to 16.
	ReplayParallelism int

	// Retries is how often a request is sent again after a lost connection or an internal error of
	// the service. A request that is throttled is sent again until OperationTimeout is over.
	//
	// Negative never retries, also after throttling. Defaults to 10.
	Retries int

	// SDKCodec leaves everything about requests to the AWS SDK. Without it the journal encodes,
	// signs and sends its most frequent requests itself, and decodes the responses, which takes a
	// fraction of the processor time. The requests are the same, except for headers in which the
	// SDK numbers requests and attempts. Set it if in doubt about that.
	//
	// The SDK sends everything anyway if AWS has middlewares (APIOptions), interceptors, service
	// options, a ClientLogMode or an endpoint resolver, so that they see every request, and in AWS
	// Lambda, so that every request is traced.
	//
	// Defaults to false.
	SDKCodec bool

	// SecretAccessKey is the secret of AccessKeyID.
	//
	// Defaults to the credentials of AWS.
	SecretAccessKey string

	// SequenceShards is the number of shards of the high and low marks. Another number than that of
	// the journal's header is ErrHeaderMismatch. For a journal without a header, set it to the
	// sequence-shards of the JVM's configuration, or highest sequence numbers are not found.
	//
	// From 0 to 10,000, and at most 1 for a native journal. Defaults to the header's, and to 10
	// without a header. [TableOptions] documents the default for new tables.
	SequenceShards int

	// Serialization encodes and decodes events and snapshots. Set it to register types.
	//
	// Defaults to serialization.NewRegistry(): strings, numbers, bytes.
	Serialization *serialization.Registry

	// SnapshotCompression compresses snapshots with zstd. A JVM does not read them.
	//
	// Defaults to false.
	SnapshotCompression bool

	// SnapshotNewestByTimestamp loads the snapshot with the newest timestamp, as the plug-ins do,
	// if the criteria do not limit the sequence number; without it, the one with the highest one.
	// They differ if a clock was set back. It reads all snapshots of the persistence id.
	//
	// Defaults to false.
	SnapshotNewestByTimestamp bool

	// SnapshotTable is the name of the table of snapshots. An ARN is refused.
	//
	// Defaults to "pekko-persistence-snapshot".
	SnapshotTable string

	// UserAgent is added to the user agent of the SDK.
	//
	// Defaults to adding nothing.
	UserAgent string

	configParts
}

// configParts has the clock of the machine, unless a test sets another.
type configParts = core.ConfigParts
