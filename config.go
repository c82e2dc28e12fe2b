package dynajournal

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/serialization"
)

// Defaults of Config, those of the plug-ins' reference configurations where they have them, but for
// DefaultMaxItemSize.
const (
	DefaultAttemptTimeout    = 4 * time.Second
	DefaultBackoffBase       = time.Millisecond
	DefaultBackoffCap        = time.Second
	DefaultConnectTimeout    = 10 * time.Second
	DefaultHandoverTime      = time.Minute
	DefaultFenceWindow       = layout.DefaultFenceWindow * time.Second
	DefaultHoleWait          = time.Minute
	DefaultIDsIndexName      = layout.SharedIDsIndex
	DefaultJournalName       = "journal"
	DefaultJournalTable      = "pekko-persistence"
	DefaultMaxBatchBytes     = 64 << 20
	DefaultMaxBatchEvents    = 10_000
	DefaultMaxBatchGet       = 100
	DefaultMaxBatchWrite     = 25
	DefaultMaxConnections    = 50
	DefaultMaxItemSize       = maxDynamoItem
	DefaultMaxSnapshotBytes  = 64 << 20
	DefaultOperationTimeout  = 10 * time.Second
	DefaultReplayParallelism = 10
	DefaultRetries           = 10
	DefaultSequenceShards    = layout.DefaultShards
	DefaultSnapshotTable     = "pekko-persistence-snapshot"
)

// Config says where a journal is and how it is to be used. The zero value of each field is its default; of the fields of a
// whole journal (names, tables, shards) the defaults are the JVM plug-ins'. docs/configuration.md maps each of their keys
// to the field here.
type Config struct {
	// AccessKeyID and SecretAccessKey are static credentials, used if both are set. Leave them empty for those of AWS.
	AccessKeyID, SecretAccessKey string

	// Adapter changes events on their way into the journal and out of it. Defaults to none.
	Adapter EventAdapter

	// AWS is the SDK's configuration: region, credentials, endpoint, HTTP client. Make one with the
	// SDK's config module for real DynamoDB, or take embedded.Engine's. Its retryer is not used:
	// retries are set here. Of the SDK's own HTTP client its settings are used, with the field
	// HTTP, and not its connections.
	AWS aws.Config

	// AttemptTimeout bounds one try of a request. A request that hangs longer is tried again, within OperationTimeout.
	// Defaults to DefaultAttemptTimeout.
	AttemptTimeout time.Duration

	// BackoffBase is the longest pause before the first retry; it doubles for each further one, up to BackoffCap. Pauses are
	// drawn evenly from zero to the longest, so that clients throttled together don't come back together. Default to
	// DefaultBackoffBase and DefaultBackoffCap.
	BackoffBase, BackoffCap time.Duration

	// DecodeEagerly decodes every event while it is read, and ends the reading with the first that can't be. Without it an
	// event is decoded when its value is asked for.
	DecodeEagerly bool

	// Endpoint is the URL of the service, for anything but AWS's own endpoint of the region. Defaults to AWS's.
	Endpoint string

	// EventEnvelope writes events in the form of Akka's plug-in 1.0 and 1.1, which these versions can read: all of an event in
	// one serialized message. Everything else is as without it, and both forms are always read, also side by side.
	EventEnvelope bool

	// FenceWindow is how long a deleted event keeps its sequence number taken, so that a writer
	// that was paused meanwhile can't write there. A writer that did nothing for half of it looks
	// before it writes. It must be the same in all processes that write to the journal, as who
	// deletes says how long the number stays taken, and who was paused when he looks: CreateTables
	// writes it into the journal's header, and 0 is what the header says. Another than the header's
	// is an error. Of a journal without a header this is the only place that says it, and 0 is
	// DefaultFenceWindow. It is at least MinFenceWindow, as a request can be under way for 15
	// minutes, and in whole seconds. Deleted events take storage that long.
	FenceWindow time.Duration

	// GroupCommit says whether writers may share requests. Defaults to GroupCommitAuto.
	GroupCommit GroupCommit

	// HandoverTime is how soon a JVM can take over a persistence id from a writer of this journal and
	// delete events, in a journal that is shared with a JVM. A writer that did nothing for longer
	// looks before it writes whether that has happened, which takes a request and 3 read units, and
	// one whose write took longer looks before it acknowledges. Defaults to DefaultHandoverTime; 10
	// seconds at least. Less than 0 is no look.
	HandoverTime time.Duration

	// HoleWait is how long a live query of a journal that is shared with a JVM waits for a number at
	// which nothing is stored though an event is behind it, as a JVM may still be storing it.
	// Negative does not wait. Defaults to DefaultHoleWait.
	HoleWait time.Duration

	// Hooks are told what happens. Each may implement any of the hook interfaces of this package.
	Hooks []Hook

	// HTTP configures connections, where AWS.HTTPClient is nil or the SDK's *BuildableClient, as
	// the SDK's loader sets them. What HTTP leaves zero is as the BuildableClient has it, if that
	// differs from the SDK's default: certificates, proxy, time-outs, its own way to dial. The
	// number of connections is always MaxConnections. HTTP with an *http.Client is an error, as
	// that has its own settings. An HTTPClient of another type is used as it is, without HTTP.
	HTTP HTTPConfig

	// IDsIndexName is the name of the index that lists the persistence ids of a shared journal. Defaults to
	// DefaultIDsIndexName.
	IDsIndexName string

	// JournalName is the first part of every key, so that several journals can share a table. Names that end in -P, -SH,
	// -SL or -META are refused: their keys could be another journal's. Defaults to DefaultJournalName.
	JournalName string

	// JournalTable is the table of events. Defaults to DefaultJournalTable.
	JournalTable string

	// LogConfig logs the configuration in use at Open, at level info, without credentials.
	LogConfig bool

	// Logger takes log records. Defaults to discarding them.
	Logger *slog.Logger

	// MaxBatchBytes bounds the bytes of all items of one atomic write, and MaxBatchEvents its events: a reader has to hold
	// an atomic write as a whole. Writes over them are rejected. Default to DefaultMaxBatchBytes and DefaultMaxBatchEvents.
	MaxBatchBytes, MaxBatchEvents int

	// MaxBatchGet and MaxBatchWrite bound the keys and items of a batch request; 100 and 25 are DynamoDB's own limits and
	// the defaults, more is refused.
	MaxBatchGet, MaxBatchWrite int

	// MaxConnections is how many requests can be under way at once, and how many connections are kept. Further ones wait. It is
	// also how many recoveries and readings of one persistence id (Recover, Events, Records, Bounds, LoadSnapshot) can be
	// beginning at once, up to their first events; further ones wait their turn, bounded by their context alone.
	// Defaults to DefaultMaxConnections; more than MaxMaxConnections is refused.
	MaxConnections int

	// MaxItemSize is the largest item in bytes, as DynamoDB counts it: larger events are rejected, larger snapshots are
	// split. Defaults to DefaultMaxItemSize, which is DynamoDB's own limit, 409,600; more is refused.
	// The plug-ins' limit of 400,000 is for an estimate by characters, which can be less than what
	// DynamoDB counts.
	MaxItemSize int

	// MaxSnapshotBytes bounds the bytes of a snapshot. One that does not fit into an item is split over several, which a JVM
	// does not see. Defaults to DefaultMaxSnapshotBytes.
	MaxSnapshotBytes int

	// OperationTimeout bounds a request with all its tries, and an append, from the moment when it is sent. Waiting for one of
	// MaxConnections before that is bounded by the caller's context alone. Defaults to DefaultOperationTimeout.
	OperationTimeout time.Duration

	// ReplayParallelism is how many partitions (100 sequence numbers each) of one persistence id are read ahead at most, as
	// long as there are free ones of MaxConnections, and how many requests a deletion has under way. Defaults to
	// DefaultReplayParallelism.
	ReplayParallelism int

	// Retries is how often a request is tried again after throttling, a lost connection or an internal error; negative is
	// never. Defaults to DefaultRetries.
	Retries int

	// SDKCodec leaves everything about requests to the AWS SDK. Without it the journal itself encodes, signs (with the SDK's signer)
	// and sends its most frequent requests, as it has seen the SDK do it, and decodes plain answers, which takes a fraction of the
	// processor time; what the two make of requests and answers is the same. The SDK also sends everything where AWS has middlewares
	// (APIOptions), interceptors, service options, a ClientLogMode or a resolver of endpoints, so that they see every request, and in
	// AWS Lambda, so that every request has its trace.
	SDKCodec bool

	// SequenceShards is the number of shards of the high and low marks. 0 is what the journal's header says, or
	// DefaultSequenceShards where there is none. Another number than the header's is an error, as with a wrong one
	// highest sequence numbers would be lost; without a header set what the JVM's sequence-shards says.
	SequenceShards int

	// Serialization turns events into bytes and back. Defaults to serialization.NewRegistry(): strings, numbers, bytes.
	Serialization *serialization.Registry

	// SnapshotCompression stores snapshots compressed with zstd, in the form of split snapshots: a JVM does not see them.
	SnapshotCompression bool

	// SnapshotEnvelope writes snapshots in the form of Akka's plug-in 1.1. Both forms are always read.
	SnapshotEnvelope bool

	// SnapshotNewestByTimestamp selects snapshots by the newest timestamp where the criteria do not bound the sequence
	// number, as the plug-ins do, and not by the highest sequence number. With clocks that go backwards the two differ. It has
	// to read all snapshots of a persistence id.
	SnapshotNewestByTimestamp bool

	// SnapshotTable is the table of snapshots. Defaults to DefaultSnapshotTable.
	SnapshotTable string

	// Tracing logs every request at level debug.
	Tracing bool

	// UserAgent is added to the SDK's own.
	UserAgent string

	// clock is the machine's, unless a test sets another.
	clock *clock.Clock
}

// GroupCommit says whether writers of different persistence ids may share requests when many write at the same time, and
// whether an atomic write of several events is one request, by PartiQL's BatchExecuteStatement. Capacity, fencing and what is
// stored are the same either way.
type GroupCommit int

const (
	// GroupCommitAuto shares requests unless the service turns out to refuse it, because it lacks PartiQL or access is denied
	// (dynamodb:PartiQLInsert): then the journal goes on with a PutItem for each event, and logs that once.
	GroupCommitAuto GroupCommit = iota
	// GroupCommitOff sends a PutItem for each event, always.
	GroupCommitOff
)

// HTTPConfig configures connections. Zero values are the defaults named, else Go's and the SDK's.
type HTTPConfig struct {
	// ConnectTimeout bounds the making of a connection. Defaults to DefaultConnectTimeout.
	ConnectTimeout time.Duration
	// IdleTimeout is how long an unused connection is kept.
	IdleTimeout time.Duration
	// KeepAlive is the pause between TCP keep-alive probes; negative sends none. It is refused with
	// an AWS.HTTPClient that dials in its own way.
	KeepAlive time.Duration
	// LocalAddress is the IP address to connect from. It is refused with an AWS.HTTPClient that
	// dials in its own way.
	LocalAddress string
	// Proxy is the URL of an HTTP proxy, with user and password where it wants them. Defaults to that of the environment
	// (HTTPS_PROXY and so on).
	Proxy string
	// ReadBuffer and WriteBuffer are the sizes in bytes of a connection's buffers. WriteBuffer defaults to 32 KiB, so that a
	// request that many writers share is one write.
	ReadBuffer, WriteBuffer int
	// ResponseTimeout bounds the wait for the beginning of an answer, beside AttemptTimeout.
	ResponseTimeout time.Duration
}

// withDefaults fills in what is not set. What is set wrongly is an *ArgumentError.
func (c Config) withDefaults() (Config, error) {
	orDefault(&c.AttemptTimeout, DefaultAttemptTimeout)
	orDefault(&c.BackoffBase, DefaultBackoffBase)
	orDefault(&c.BackoffCap, DefaultBackoffCap)
	orDefault(&c.HandoverTime, DefaultHandoverTime)
	orDefault(&c.HTTP.ConnectTimeout, DefaultConnectTimeout)
	orDefault(&c.HoleWait, DefaultHoleWait)
	orDefault(&c.IDsIndexName, DefaultIDsIndexName)
	orDefault(&c.JournalName, DefaultJournalName)
	orDefault(&c.JournalTable, DefaultJournalTable)
	orDefault(&c.MaxBatchBytes, DefaultMaxBatchBytes)
	orDefault(&c.MaxBatchEvents, DefaultMaxBatchEvents)
	orDefault(&c.MaxBatchGet, DefaultMaxBatchGet)
	orDefault(&c.MaxBatchWrite, DefaultMaxBatchWrite)
	orDefault(&c.MaxConnections, DefaultMaxConnections)
	orDefault(&c.MaxItemSize, DefaultMaxItemSize)
	orDefault(&c.MaxSnapshotBytes, DefaultMaxSnapshotBytes)
	orDefault(&c.OperationTimeout, DefaultOperationTimeout)
	orDefault(&c.ReplayParallelism, DefaultReplayParallelism)
	orDefault(&c.Retries, DefaultRetries)
	orDefault(&c.SnapshotTable, DefaultSnapshotTable)
	c.Retries = max(c.Retries, 0)
	if c.clock == nil {
		c.clock = clock.System()
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Serialization == nil {
		c.Serialization = serialization.NewRegistry()
	}
	return c, c.check()
}

func orDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Bounds of Config.
const (
	// MinFenceWindow is the shortest fence window.
	MinFenceWindow = layout.MinFenceWindow * time.Second
	// MaxMaxConnections is the most connections that a journal takes.
	MaxMaxConnections = 10_000
)

// minHandoverTime is the shortest HandoverTime. A look that takes longer is made again, and the
// service tells its time in whole seconds.
const minHandoverTime = 10 * time.Second

// maxBuffer bounds the buffers of a connection, in bytes.
const maxBuffer = 64 << 20

// maxDynamoItem is DynamoDB's limit of an item, in bytes.
const maxDynamoItem = 400 << 10

func (c *Config) check() error {
	positive := func(name string, v int64, most int64) error {
		if v < 1 || v > most {
			return &ArgumentError{"Config." + name, v, fmt.Sprintf("it must be from 1 to %d", most)}
		}
		return nil
	}
	const anyDuration, anyNumber = int64(10 * 365 * 24 * time.Hour), int64(1 << 31)
	for _, field := range []error{
		positive("AttemptTimeout", int64(c.AttemptTimeout), anyDuration),
		positive("BackoffBase", int64(c.BackoffBase), anyDuration),
		positive("BackoffCap", int64(c.BackoffCap), anyDuration),
		positive("HoleWait", max(int64(c.HoleWait), 1), anyDuration),
		positive("HTTP.ConnectTimeout", int64(c.HTTP.ConnectTimeout), anyDuration),
		positive("MaxBatchBytes", int64(c.MaxBatchBytes), anyNumber),
		positive("MaxBatchEvents", int64(c.MaxBatchEvents), anyNumber),
		positive("MaxBatchGet", int64(c.MaxBatchGet), DefaultMaxBatchGet),
		positive("MaxBatchWrite", int64(c.MaxBatchWrite), DefaultMaxBatchWrite),
		positive("MaxConnections", int64(c.MaxConnections), MaxMaxConnections),
		positive("MaxItemSize", int64(c.MaxItemSize), maxDynamoItem),
		positive("MaxSnapshotBytes", int64(c.MaxSnapshotBytes), anyNumber),
		positive("OperationTimeout", int64(c.OperationTimeout), anyDuration),
		positive("ReplayParallelism", int64(c.ReplayParallelism), MaxMaxConnections),
		positive("HTTP.ReadBuffer", max(int64(c.HTTP.ReadBuffer), 1), maxBuffer),
		positive("HTTP.WriteBuffer", max(int64(c.HTTP.WriteBuffer), 1), maxBuffer),
		positive("SequenceShards", max(int64(c.SequenceShards), 0)+1, layout.MaxShards+1),
	} {
		if field != nil {
			return field
		}
	}
	if w := c.FenceWindow; w != 0 && (w < MinFenceWindow || w > layout.MaxFenceWindow*time.Second || w%time.Second != 0) {
		return &ArgumentError{"Config.FenceWindow", w, fmt.Sprintf("it must be from %v to ten years, in whole seconds", MinFenceWindow)}
	}
	if t := c.HandoverTime; t > 0 && t < minHandoverTime {
		return &ArgumentError{"Config.HandoverTime", t, fmt.Sprintf("it must be at least %v, or less than 0 for no look", minHandoverTime)}
	}
	if c.GroupCommit != GroupCommitAuto && c.GroupCommit != GroupCommitOff {
		return &ArgumentError{"Config.GroupCommit", int(c.GroupCommit), "it must be GroupCommitAuto or GroupCommitOff"}
	}
	if c.SequenceShards < 0 {
		return &ArgumentError{"Config.SequenceShards", c.SequenceShards, mustNotBeNegative}
	}
	if err := layout.CheckJournalName(c.JournalName); err != nil {
		return &ArgumentError{"Config.JournalName", c.JournalName, err.Error()}
	}
	for name, text := range map[string]string{
		"Config.JournalTable": c.JournalTable, "Config.SnapshotTable": c.SnapshotTable, "Config.IDsIndexName": c.IDsIndexName,
	} {
		if !utf8.ValidString(text) {
			return &ArgumentError{name, text, layout.ErrNotUTF8.Error()}
		}
	}
	return c.checkAddresses()
}

func (c *Config) checkAddresses() error {
	if err := c.checkHTTPClient(); err != nil {
		return err
	}
	for name, address := range map[string]string{"Config.Endpoint": c.Endpoint, "Config.HTTP.Proxy": c.HTTP.Proxy} {
		if address == "" {
			continue
		}
		if u, err := url.Parse(address); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return &ArgumentError{name, address, "it must be a URL with http or https and a host"}
		}
	}
	if c.AWS.Region == "" && c.Endpoint == "" && c.AWS.BaseEndpoint == nil {
		return &ArgumentError{"Config.AWS.Region", "", "it must be set, as there is no Endpoint either: load it with the SDK's config module"}
	}
	return nil
}

// checkHTTPClient refuses settings of connections that an HTTP client of the caller would not get.
// Clients of other types, such as the embedded engine's, need not make connections.
func (c *Config) checkHTTPClient() error {
	unused := c.HTTP
	if unused.ConnectTimeout == DefaultConnectTimeout {
		unused.ConnectTimeout = 0
	}
	if _, own := c.AWS.HTTPClient.(*http.Client); own && unused != (HTTPConfig{}) {
		return &ArgumentError{"Config.HTTP", "set", "AWS.HTTPClient is an *http.Client, which has its " +
			"own settings: set them there, or leave AWS.HTTPClient to the SDK"}
	}
	return nil
}

// Connect fills in the defaults, checks the configuration, and makes the client that it describes. It is for the packages of
// this module that read other layouts with the same configuration; the client's type is theirs alone. Close it at the end.
func (c Config) Connect() (Config, *dynamo.Client, error) {
	c, err := c.withDefaults()
	if err != nil {
		return c, nil, err
	}
	client, err := c.client()
	return c, client, err
}

// defaultRegion signs requests to an endpoint of one's own, which has no region.
const defaultRegion = "us-east-1"

// client makes the client that a configuration, with its defaults, describes.
func (c *Config) client() (*dynamo.Client, error) {
	awsConfig := c.AWS.Copy()
	if c.Endpoint != "" {
		awsConfig.BaseEndpoint = &c.Endpoint
	}
	orDefault(&awsConfig.Region, defaultRegion)
	if c.AccessKeyID != "" && c.SecretAccessKey != "" {
		awsConfig.Credentials = aws.NewCredentialsCache(staticCredentials{c.AccessKeyID, c.SecretAccessKey})
	}
	client, err := dynamo.New(dynamo.Options{
		AWS:       awsConfig,
		UserAgent: c.UserAgent,
		HTTP: dynamo.HTTPOptions{
			Transport:      c.HTTP.transport,
			ConnectTimeout: c.HTTP.ConnectTimeout,
			KeepAlive:      c.HTTP.KeepAlive,
			LocalAddress:   c.HTTP.LocalAddress,
		},
		MaxInFlight:      c.MaxConnections,
		Retries:          c.Retries,
		BackoffBase:      c.BackoffBase,
		BackoffCap:       c.BackoffCap,
		AttemptTimeout:   c.AttemptTimeout,
		OperationTimeout: c.OperationTimeout,
		MaxBatchGet:      c.MaxBatchGet,
		MaxBatchWrite:    c.MaxBatchWrite,
		SDKCodec:         c.SDKCodec,
		Clock:            c.clock,
		Observe:          c.observer(),
	})
	if err != nil {
		return nil, &ArgumentError{"Config.HTTP", c.HTTP.LocalAddress, err.Error()}
	}
	return client, nil
}

func (h HTTPConfig) transport(t *http.Transport) {
	if h.Proxy != "" {
		if u, err := url.Parse(h.Proxy); err == nil {
			t.Proxy = http.ProxyURL(u)
		}
	}
	if h.IdleTimeout != 0 {
		t.IdleConnTimeout = h.IdleTimeout
	}
	if h.WriteBuffer != 0 {
		t.WriteBufferSize = h.WriteBuffer
	}
	if h.ReadBuffer != 0 {
		t.ReadBufferSize = h.ReadBuffer
	}
	if h.ResponseTimeout != 0 {
		t.ResponseHeaderTimeout = h.ResponseTimeout
	}
}

// staticCredentials are an access key that never expires.
type staticCredentials struct{ id, secret string }

// Retrieve gives the access key.
func (s staticCredentials) Retrieve(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: s.id, SecretAccessKey: s.secret, Source: "dynajournal.Config"}, nil
}
