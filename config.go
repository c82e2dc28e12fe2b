package dynajournal

import (
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/serialization"
)

// Config configures a journal. A field with its zero value has the default that it documents.
// Names, tables and numbers of shards, on which all processes of a journal must agree, have the
// defaults of the JVM plug-ins: docs/configuration.md maps each plug-in key to its field.
//
// [Open], [CreateTables] and the other functions that take a Config return an [*ArgumentError] if a
// field is out of its bounds, before they send anything. They copy the Config: changing it later
// has no effect.
type Config struct {
	// AccessKeyID is the access key of static credentials. It has an effect only together with
	// SecretAccessKey: the two replace AWS.Credentials. Set both for a local endpoint, which
	// accepts any values.
	//
	// Defaults to the credentials of AWS.
	AccessKeyID string

	// Adapter converts events before they are stored and after they are read. Set it to separate
	// the program's types from the stored types, or to read events that older versions have stored.
	//
	// Defaults to none.
	Adapter EventAdapter

	// AttemptTimeout limits the duration of one attempt of a request. An attempt that takes longer
	// is retried, within OperationTimeout. Lower it to recover sooner from lost connections; raise
	// it if the network is slow. An attempt that several writers share has a quarter of this time.
	// If it takes longer, each writer's events are then sent in a request of their own.
	//
	// From 1 nanosecond to 10 years. Defaults to 4 seconds.
	AttemptTimeout time.Duration

	// AWS is the configuration of the AWS SDK: region, credentials, endpoint, HTTP client. For AWS
	// itself, load it with the SDK's config module; for the embedded engine, take it from
	// embedded.Engine. Its retryer is not used: BackoffBase, BackoffCap and Retries configure
	// retries. If its HTTP client is the SDK's own, the journal uses that client's settings, but
	// not its connections: see HTTP.
	//
	// AWS.Region must be set unless Endpoint or AWS.BaseEndpoint is set.
	AWS aws.Config

	// BackoffBase is the longest pause before the first retry. The longest pause doubles with each
	// further retry, up to BackoffCap. The length of a pause is random, from zero to the longest,
	// so that clients that were throttled together do not retry together.
	//
	// From 1 nanosecond to 10 years. Defaults to 1 millisecond.
	BackoffBase time.Duration

	// BackoffCap is the longest pause before each of the first Retries retries. Raise it, together
	// with OperationTimeout, to spread the retries of many clients over a longer time. A throttled
	// request can have more retries: the pauses before these are up to 64 milliseconds, whatever
	// BackoffCap is.
	//
	// From 1 nanosecond to 10 years. Defaults to 1 second.
	BackoffCap time.Duration

	// ConnectAhead is the number of connections that Open makes, all at the same time, each with a
	// request for the journal's header. Set it if many entities are recovered right after a start:
	// the first requests then do not wait for TLS handshakes. Each connection costs one request and
	// one read unit. Open ignores connections that fail.
	//
	// From 0 to MaxConnections. Defaults to 0: connections are made when they are needed.
	ConnectAhead int

	// DecodeEagerly decodes every event while it is read, and stops reading at the first event that
	// can't be decoded. Set it to find such an event before the events after it are handled.
	//
	// Defaults to false: Event.Payload decodes an event. Even then, a journal with an Adapter or
	// upcasters decodes events while it reads them; an event that can't be decoded does not stop
	// reading.
	DecodeEagerly bool

	// Endpoint is the URL of the service, http or https, with a host. Set it for a service other
	// than AWS, such as DynamoDB Local or a served embedded.Engine.
	//
	// Defaults to AWS.BaseEndpoint, or to AWS's endpoint for the region if that is not set.
	Endpoint string

	// EventMetadata selects whether events are stored with their time, metadata and tags. Set
	// EventMetadataOn to store them in a journal that is shared with a JVM, which ignores them. Set
	// EventMetadataOff to leave them out.
	//
	// Defaults to EventMetadataAuto, which stores them in a native journal only.
	EventMetadata EventMetadata

	// FenceWindow is how long the sequence number of a deleted event stays taken, so that a writer
	// that was paused before the deletion can't write there. A writer that was idle for half this
	// time reads the journal before it writes again. A longer window protects against longer
	// pauses, but deleted events take up storage for that time.
	//
	// All processes that write to a journal must use the same value, so CreateTables stores it in
	// the journal's header. A value that differs from the header's is ErrHeaderMismatch. A journal
	// without a header (a JVM made its tables) uses the value set here.
	//
	// Whole seconds, from 1 hour ([MinFenceWindow]: a request can be in flight for 15 minutes) to
	// 10 years. Defaults to the value in the header, or to 24 hours without a header.
	FenceWindow time.Duration

	// GroupCommit selects whether writers share requests.
	//
	// Defaults to GroupCommitAuto.
	GroupCommit GroupCommit

	// HandoverTime is the shortest time in which a JVM can take over a persistence id from a writer
	// of this journal and delete events. It has no effect in a native journal. A writer that was
	// idle for longer checks whether a JVM has taken over before it writes. That check takes one
	// request and 3 read units if the last event has up to 4 KB, and a second request if that event
	// was deleted. A writer whose write took longer checks before it acknowledges the write. Lower
	// HandoverTime if entities move faster than that between Go and the JVM.
	//
	// At least 10 seconds; a negative value turns the check off. Defaults to 1 minute.
	HandoverTime time.Duration

	// HoleWait is how long a live query waits for a missing sequence number in a journal that is
	// shared with a JVM. A JVM stores several events at the same time, so the missing one may
	// arrive later than the next ones. HoleWait has no effect in a native journal. A longer wait
	// misses fewer events, but delays all events after a number that stays missing.
	//
	// Up to 10 years; with a negative value queries do not wait. Defaults to 1 minute.
	HoleWait time.Duration

	// Hooks are called, in order, when something happens in the journal. Use them for metrics and
	// traces.
	//
	// Defaults to none.
	Hooks []Hook

	// HTTP configures connections. It applies if AWS.HTTPClient is nil or the SDK's own client
	// (*awshttp.BuildableClient). With the SDK's client, a zero field of HTTP keeps the client's
	// setting. The exception is ConnectTimeout, whose default also limits that client's dialer. If
	// AWS.HTTPClient is an *http.Client, which has its own settings, setting a field of HTTP is an
	// error. With an HTTP client of any other type, HTTP has no effect.
	//
	// Defaults to the SDK's settings, except for fields that document another default. The number
	// of connections is MaxConnections.
	HTTP HTTPConfig

	// IDsIndexName is the name of the index that lists the persistence ids of a journal that is
	// shared with a JVM. It must be the name in the JVM's configuration. It has no effect in a
	// native journal.
	//
	// Defaults to "persistence-ids-idx".
	IDsIndexName string

	// JournalName is the first part of every key, so several journals can share a table. A
	// different name is a different journal. Names that end in -P, -SH, -SL, -ST or -META are
	// refused, because their keys could be keys of another journal.
	//
	// Defaults to "journal".
	JournalName string

	// JournalTable is the name of the table of events. An ARN is refused.
	//
	// Defaults to "pekko-persistence".
	JournalTable string

	// Logger receives the log records. Use slog.New(slog.DiscardHandler) to turn logging off. A
	// logger with level debug enabled when the journal is opened also gets the configuration,
	// without credentials, and every attempt of a request.
	//
	// Defaults to slog.Default().
	Logger *slog.Logger

	// MaxBatchBytes is the largest size of an atomic write: the sum of the sizes of its items, in
	// bytes. A larger write is rejected. A reader needs memory for a whole atomic write.
	//
	// From 1 to 2,147,483,648. Defaults to 67,108,864 (64 MiB).
	MaxBatchBytes int

	// MaxBatchEvents is the largest number of events in an atomic write. A larger write is
	// rejected.
	//
	// From 1 to 2,147,483,648. Defaults to 10,000.
	MaxBatchEvents int

	// MaxBatchGet is the largest number of keys in a BatchGetItem request. Lower it for a service
	// that accepts fewer than DynamoDB.
	//
	// From 1 to 100. Defaults to 100.
	MaxBatchGet int

	// MaxBatchWrite is the largest number of items in a BatchWriteItem request. Lower it for a
	// service that accepts fewer than DynamoDB.
	//
	// From 1 to 25. Defaults to 25.
	MaxBatchWrite int

	// MaxConnections is the largest number of requests in flight, and of open connections. Further
	// requests wait. It also limits how many reads of a persistence id (Recover, Events, Records,
	// Bounds, LoadSnapshot) can read their first events at the same time. Further reads wait, for
	// as long as their context allows. Raise it for more throughput, at the cost of memory.
	//
	// From 1 to 10,000 ([MaxMaxConnections]). Defaults to 50.
	MaxConnections int

	// MaxItemSize is the largest size of an item in bytes, as DynamoDB counts it. A larger event is
	// rejected, a larger snapshot is split. The plug-ins' limit of 400,000 applies to an estimate
	// by characters, which can be lower than the size that DynamoDB counts.
	//
	// From 1 to 409,600, DynamoDB's limit. Defaults to 409,600.
	MaxItemSize int

	// MaxSnapshotBytes is the largest size of a snapshot in bytes. A snapshot that does not fit
	// into one item is split over several items, which a JVM can't read. Set it to 400,000 if a JVM
	// must read every snapshot.
	//
	// From 1 to 2,147,483,648. Defaults to 67,108,864 (64 MiB).
	MaxSnapshotBytes int

	// OldEventFormat writes events in the format of Akka's plug-in 1.0 and 1.1, so that these
	// versions can read them: one serialized message contains the whole event. Both formats can
	// always be read, even in the same journal.
	//
	// Defaults to false.
	OldEventFormat bool

	// OldSnapshotFormat writes snapshots in the format of Akka's plug-in 1.1. Both formats can
	// always be read.
	//
	// Defaults to false.
	OldSnapshotFormat bool

	// OperationTimeout limits the duration of a request with all its attempts, and the duration of
	// an append. The time starts with the first attempt. Before that a request can wait for one of
	// MaxConnections, for as long as its context allows.
	//
	// From 1 nanosecond to 10 years. Defaults to 10 seconds.
	OperationTimeout time.Duration

	// ReplayParallelism is the largest number of partitions (100 sequence numbers each) of a
	// persistence id that are read ahead while some of MaxConnections are free. It is also the
	// number of requests that a deletion has in flight. Raise it to replay long histories faster;
	// each partition can take 1 MB of memory.
	//
	// From 1 to 10,000. Defaults to 16.
	ReplayParallelism int

	// Retries is how often a request is sent again after a lost connection or an internal error of
	// the service. A throttled request is sent again until OperationTimeout is over.
	//
	// With a negative value requests are never sent again, even after throttling. Defaults to 10.
	Retries int

	// SDKCodec leaves all request handling to the AWS SDK. Without it the journal itself encodes,
	// signs and sends its most frequent requests and decodes the responses, which takes a fraction
	// of the processor time. The requests are the same, except for the headers in which the SDK
	// numbers requests and attempts. Set it to rule out the journal's own code as the cause of a
	// problem.
	//
	// The SDK also sends all requests if AWS has middlewares (APIOptions), interceptors, service
	// options, a ClientLogMode or an endpoint resolver, so that they see every request, and in AWS
	// Lambda, so that every request is traced.
	//
	// Defaults to false.
	SDKCodec bool

	// SecretAccessKey is the secret key for AccessKeyID.
	//
	// Defaults to the credentials of AWS.
	SecretAccessKey string

	// SequenceShards is the number of shards of the high and low marks. A number that differs from
	// the header's is ErrHeaderMismatch. For a journal without a header, set it to sequence-shards
	// of the JVM's configuration; otherwise highest sequence numbers are not found.
	//
	// From 0 to 10,000, and at most 1 for a native journal. Defaults to the number in the header,
	// or to 10 without a header. [TableOptions] documents the default for new tables.
	SequenceShards int

	// Serialization encodes and decodes events and snapshots. Set it to register types.
	//
	// Defaults to serialization.NewRegistry(): strings, numbers, bytes.
	Serialization *serialization.Registry

	// SnapshotCompression compresses snapshots with zstd. A JVM can't read them.
	//
	// Defaults to false.
	SnapshotCompression bool

	// SnapshotNewestByTimestamp makes LoadSnapshot return the snapshot with the newest timestamp if
	// the criteria do not limit the sequence number, as in the plug-ins; otherwise it returns the
	// snapshot with the highest sequence number. The two differ if a clock was set back. With this
	// option LoadSnapshot reads all snapshots of the persistence id.
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

// configParts contains the clock: the system's, unless a test sets another.
type configParts = core.ConfigParts
