package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/alecthomas/kong"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/commandids"
	"github.com/dynajournal/dynajournal/serialization"
)

// criteria has the flags that select snapshots. Bounds are inclusive, and a snapshot must satisfy
// all of them.
type criteria struct {
	MinSeq *int64  `placeholder:"N" help:"Lowest sequence number. Default: no bound."`
	MaxSeq *int64  `placeholder:"N" help:"Highest sequence number. Default: no bound."`
	MinTS  instant `name:"min-ts" placeholder:"T" help:"Earliest time, in milliseconds since 1970 or like 2026-01-31T12:00:00Z. Default: no bound."`
	MaxTS  instant `name:"max-ts" placeholder:"T" help:"Latest time, in the same form. Default: no bound."`
}

// instant is a point in time on the command line.
type instant struct{ time.Time }

// Decode takes the next word of the command line.
func (i *instant) Decode(c *kong.DecodeContext) error {
	var word string
	if err := c.Scan.PopValueInto("time", &word); err != nil {
		return err
	}
	if ms, err := strconv.ParseInt(word, 10, 64); err == nil {
		i.Time = time.UnixMilli(ms)
		return nil
	}
	var err error
	if i.Time, err = time.Parse(time.RFC3339, word); err != nil {
		return fmt.Errorf("%q is neither a number of milliseconds nor a time like 2026-01-31T12:00:00Z", word)
	}
	return nil
}

// bounds converts the flags to criteria of a journal, in which a MaxSequenceNumber of 0 means no
// bound.
func (c *criteria) bounds() (dynajournal.SnapshotCriteria, error) {
	b := dynajournal.SnapshotCriteria{MinTimestamp: c.MinTS.Time, MaxTimestamp: c.MaxTS.Time}
	for _, bound := range []struct {
		flag  string
		given *int64
		field *int64
	}{{"--min-seq", c.MinSeq, &b.MinSequenceNumber}, {"--max-seq", c.MaxSeq, &b.MaxSequenceNumber}} {
		if bound.given == nil {
			continue
		}
		if *bound.given < 0 {
			return b, usagef("%s must not be negative", bound.flag)
		}
		*bound.field = *bound.given
	}
	if c.MaxSeq != nil && *c.MaxSeq == 0 {
		b.SequenceNumber = c.MaxSeq // a JVM saves a snapshot before the first event at 0
	}
	return b, nil
}

// snapshotResult is a snapshot.
type snapshotResult struct {
	PersistenceID      string          `json:"persistence_id"`
	SequenceNr         int64           `json:"sequence_nr"`
	Timestamp          int64           `json:"timestamp"` // in milliseconds since 1970
	SerializerID       int32           `json:"serializer_id"`
	SerializerManifest string          `json:"serializer_manifest"`
	PayloadBase64      string          `json:"payload_base64"`
	Payload            json.RawMessage `json:"payload,omitempty"`
	// CommandIDs is the number of command ids that an entity's snapshot has in addition to the
	// state.
	CommandIDs *int `json:"command_ids,omitempty"`

	state serialization.Payload
}

func newSnapshotResult(s dynajournal.Snapshot, payloads *payloadDecoder) snapshotResult {
	r := snapshotResult{
		PersistenceID:      s.PersistenceID,
		SequenceNr:         s.SequenceNumber,
		Timestamp:          s.Timestamp.UnixMilli(),
		SerializerID:       s.SerializerID,
		SerializerManifest: s.SerializerManifest,
		PayloadBase64:      base64.StdEncoding.EncodeToString(s.Bytes),
		state:              s.Serialized(),
	}
	if state, ids, err := commandids.Open(s.Serialized()); err == nil && commandids.IsSealed(s.Serialized()) {
		r.state, r.CommandIDs = state, new(len(ids.Done))
	}
	r.Payload = payloads.decode(r.state)
	return r
}

func (r snapshotResult) text() string {
	text := fmt.Sprintf("%8d  %s  %s", r.SequenceNr, timeText(time.UnixMilli(r.Timestamp)),
		payloadText(r.state.SerializerID, r.state.Manifest, r.Payload, base64.StdEncoding.EncodeToString(r.state.Bytes)))
	if r.CommandIDs != nil {
		text += fmt.Sprintf("  %d command ids", *r.CommandIDs)
	}
	return text
}

// hasPayload marks a result whose line is cut on a terminal.
func (snapshotResult) hasPayload() {}

type snapshotsCommand struct {
	criteria

	PersistenceID string `arg:"" name:"pid" help:"Persistence id."`
}

// Run runs the command.
func (c *snapshotsCommand) Run(ctx context.Context, s *session) error {
	bounds, err := c.bounds()
	if err != nil {
		return err
	}
	return s.currentJournal(ctx, reading, func(j *dynajournal.Journal) error {
		var payloads payloadDecoder
		var damaged error // the first damaged snapshot; later snapshots are still shown
		for snapshot, err := range j.Snapshots(ctx, c.PersistenceID, bounds) {
			if errors.Is(err, dynajournal.ErrCorruptItem) {
				if damaged == nil {
					damaged = err
				}
				continue
			}
			if err != nil {
				return err
			}
			if err := s.result.write(newSnapshotResult(snapshot, &payloads)); err != nil {
				return err
			}
		}
		return damaged
	})
}
