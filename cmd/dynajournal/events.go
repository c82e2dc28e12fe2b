package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/dynajournal/dynajournal"
)

type eventsCommand struct {
	PersistenceID string `arg:"" name:"pid" help:"Persistence id."`
	From          int64  `placeholder:"N" help:"First sequence number. Default: the first there is."`
	To            int64  `placeholder:"N" help:"Last sequence number. Default: the last there is."`
	Max           *int64 `placeholder:"N" help:"Show N events at most."`
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
	}
}

func (r eventResult) text() string {
	return fmt.Sprintf("%8d  %s", r.SequenceNr, payloadText(r.SerializerID, r.SerializerManifest, r.Payload, r.PayloadBase64))
}

// Run runs the command.
func (c *eventsCommand) Run(ctx context.Context, s *session) error {
	if s.where.isOlder() {
		return c.older(ctx, s)
	}
	return s.journal(ctx, reading, func(j *dynajournal.Journal) error {
		var payloads payloadDecoder
		for e, err := range j.Events(ctx, c.PersistenceID, dynajournal.Range{From: c.From, To: c.To, Limit: c.Max}) {
			if err != nil {
				return err
			}
			if err := s.result.write(newEventResult(e, &payloads)); err != nil {
				return err
			}
		}
		return nil
	})
}
