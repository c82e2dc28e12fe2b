package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"github.com/dynajournal/dynajournal"
)

type eventsCommand struct {
	PersistenceID string `arg:"" name:"pid" help:"Persistence id."`
	From          int64  `placeholder:"N" help:"First sequence number. Default: the first that is stored."`
	To            *int64 `placeholder:"N" help:"Last sequence number; 0 shows none. Default: the last that is stored."`
	Max           *int64 `placeholder:"N" help:"Show at most N events; 0 shows none. Default: all."`
	SkipMissing   bool   `help:"Continue after missing events. Default: stop at a missing event, with an error."`
}

// eventResult is an event.
type eventResult struct {
	PersistenceID      string          `json:"persistence_id"`
	SequenceNr         int64           `json:"sequence_nr"`
	Manifest           string          `json:"manifest"`
	WriterUUID         string          `json:"writer_uuid"`
	SerializerID       int32           `json:"serializer_id"`
	SerializerManifest string          `json:"serializer_manifest"`
	PayloadBase64      string          `json:"payload_base64"`
	Payload            json.RawMessage `json:"payload,omitempty"`
	// Time, Metadata and Tags are set where they are stored.
	Time     time.Time         `json:"time,omitzero"`
	Metadata map[string]string `json:"metadata,omitempty"`
	Tags     []string          `json:"tags,omitempty"`
	// Deleted and Confirmations are set only in the older layouts.
	Deleted       *bool    `json:"deleted,omitzero"`
	Confirmations []string `json:"confirmations,omitzero"`
}

func newEventResult(e dynajournal.Event, payloads *payloadDecoder) eventResult {
	return eventResult{
		PersistenceID:      e.PersistenceID,
		SequenceNr:         e.SequenceNumber,
		Manifest:           e.Manifest,
		WriterUUID:         e.WriterUUID,
		SerializerID:       e.SerializerID,
		SerializerManifest: e.SerializerManifest,
		PayloadBase64:      base64.StdEncoding.EncodeToString(e.Bytes),
		Payload:            payloads.decode(e.Serialized()),
		Time:               e.Time,
		Metadata:           e.Metadata,
		Tags:               e.Tags,
	}
}

func (r eventResult) text() string {
	text := fmt.Sprintf("%8d  ", r.SequenceNr)
	if !r.Time.IsZero() {
		text += timeText(r.Time) + "  "
	}
	text += payloadText(r.SerializerID, r.SerializerManifest, r.Payload, r.PayloadBase64)
	if r.Deleted != nil && *r.Deleted {
		text += "  marked as deleted"
	}
	if len(r.Confirmations) > 0 {
		text += fmt.Sprintf("  confirmed by %q", r.Confirmations)
	}
	return text
}

// hasPayload marks a result whose line is cut on a terminal.
func (eventResult) hasPayload() {}

// timeText returns a time in UTC, to the millisecond.
func timeText(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// Run runs the command.
func (c *eventsCommand) Run(ctx context.Context, s *session) error {
	return s.journal(ctx, reading, func(j journal) error {
		window := dynajournal.Range{From: c.From, Limit: c.Max, SkipMissing: c.SkipMissing}
		switch {
		case c.To == nil:
		case *c.To == 0:
			window.Limit = c.To // no event has a number below 1
		default:
			window.To = *c.To
		}
		for event, err := range j.events(ctx, c.PersistenceID, window) {
			if err == nil {
				err = s.result.write(event)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}
