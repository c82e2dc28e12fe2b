package dynajournal

import (
	"cmp"
	"fmt"
	"net/url"
	"time"
	"unicode/utf8"

	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/provision"
)

// Bounds of Config fields.
const (
	// MinFenceWindow is the shortest Config.FenceWindow.
	MinFenceWindow = time.Hour
	// MaxMaxConnections is the largest Config.MaxConnections.
	MaxMaxConnections = 10_000
)

// minHandoverTime is the shortest Config.HandoverTime. The limit exists because a check that takes
// longer than HandoverTime is repeated, and the service returns its time in whole seconds.
const minHandoverTime = 10 * time.Second

// maxBuffer is the largest buffer of a connection, in bytes.
const maxBuffer = 64 << 20

// maxDynamoItem is DynamoDB's limit on the size of an item, in bytes.
const maxDynamoItem = 400 << 10

// check returns an *ArgumentError for the first field that is out of its bounds.
func (c *Config) check() error {
	if err := c.checkNumbers(); err != nil {
		return err
	}
	const maxFenceWindow = layout.MaxFenceWindow * time.Second
	if w := c.FenceWindow; w != 0 && (w < MinFenceWindow || w > maxFenceWindow || w%time.Second != 0) {
		reason := fmt.Sprintf("it must be from %v to ten years, in whole seconds", MinFenceWindow)
		return &ArgumentError{"Config.FenceWindow", w, reason}
	}
	if t := c.HandoverTime; t > 0 && t < minHandoverTime {
		reason := fmt.Sprintf("it must be at least %v, or less than 0 for no check", minHandoverTime)
		return &ArgumentError{"Config.HandoverTime", t, reason}
	}
	if c.ConnectAhead < 0 || c.ConnectAhead > c.MaxConnections {
		reason := fmt.Sprintf("it must be from 0 to MaxConnections, which is %d", c.MaxConnections)
		return &ArgumentError{"Config.ConnectAhead", c.ConnectAhead, reason}
	}
	if c.GroupCommit != GroupCommitAuto && c.GroupCommit != GroupCommitOff {
		return &ArgumentError{"Config.GroupCommit", int(c.GroupCommit), "it must be GroupCommitAuto or GroupCommitOff"}
	}
	if err := c.checkEventMetadata(); err != nil {
		return err
	}
	if c.SequenceShards < 0 {
		return &ArgumentError{"Config.SequenceShards", c.SequenceShards, core.MustNotBeNegative}
	}
	if err := c.checkNames(); err != nil {
		return err
	}
	return c.checkAddresses()
}

// checkNumbers checks the numbers and durations that have a lower and an upper bound.
func (c *Config) checkNumbers() error {
	positive := func(name string, v int64, most int64) error {
		if v < 1 || v > most {
			return &ArgumentError{"Config." + name, v, fmt.Sprintf("it must be from 1 to %d", most)}
		}
		return nil
	}
	const anyDuration, anyNumber = int64(10 * 365 * 24 * time.Hour), int64(1 << 31)
	return cmp.Or(
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
		positive("HTTP.ReadBuffer", cmp.Or(int64(c.HTTP.ReadBuffer), 1), maxBuffer),
		positive("HTTP.WriteBuffer", cmp.Or(int64(c.HTTP.WriteBuffer), 1), maxBuffer),
		positive("SequenceShards", max(int64(c.SequenceShards), 0)+1, layout.MaxShards+1),
	)
}

// checkNames checks the names of the journal, its tables and its index.
func (c *Config) checkNames() error {
	if err := layout.CheckJournalName(c.JournalName); err != nil {
		return &ArgumentError{"Config.JournalName", c.JournalName, err.Error()}
	}
	for name, text := range map[string]string{
		"Config.IDsIndexName":  c.IDsIndexName,
		"Config.JournalTable":  c.JournalTable,
		"Config.SnapshotTable": c.SnapshotTable,
	} {
		if !utf8.ValidString(text) {
			return &ArgumentError{name, text, layout.ErrNotUTF8.Error()}
		}
		if err := provision.CheckName(text); err != nil {
			return &ArgumentError{name, text, err.Error()}
		}
	}
	return nil
}

// checkAddresses checks the HTTP client, the endpoint, the proxy and the region.
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
		const reason = "it must be set, because Endpoint is not set: load it with the SDK's config module"
		return &ArgumentError{"Config.AWS.Region", "", reason}
	}
	return nil
}
