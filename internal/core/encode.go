package core

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/protocol"
	"github.com/dynajournal/dynajournal/serialization"
)

// New is an event to be appended. It has the fields of the root's NewEvent.
type New struct {
	Value    any
	Metadata map[string]string
	Tags     []string
}

// reservedPrefix is the prefix of the metadata keys that only dynajournal sets.
const reservedPrefix = "dj."

// The metadata keys of a command with an id, on its first event. commandKey has the id. eventsKey
// has the number of events that the command has recorded, if it is more than one.
const (
	commandKey = reservedPrefix + "command"
	eventsKey  = reservedPrefix + "events"
)

// CommandMark is stored with the first event of a command that has an id.
type CommandMark struct {
	ID string
	// Events is the number of events that the command has recorded.
	Events int
}

// MarkOf returns the mark in the metadata of the first event of a command, or the zero mark if the
// metadata does not have one.
func MarkOf(metadata map[string]string) CommandMark {
	id, ok := metadata[commandKey]
	if !ok {
		return CommandMark{}
	}
	events, err := strconv.Atoi(metadata[eventsKey])
	if err != nil || events < 1 {
		events = 1
	}
	return CommandMark{ID: id, Events: events}
}

// Encode returns the stored form of an event, without its sequence number. index is the index of
// the event in the call.
func (j *Journal) Encode(ctx context.Context, pid string, e *New, index int) (*layout.Event, error) {
	metadata, err := j.metadata(e)
	var stored any
	var manifest string
	if err == nil {
		stored, manifest, err = j.adapt(e.Value)
	}
	var p serialization.Payload
	var put *clock.Moment
	if err == nil {
		p, put, err = j.EncodePayload(ctx, stored)
	}
	if err == nil && !layout.IsUTF8(p.Manifest, manifest) {
		err = ErrManifestNotText
	}
	if err != nil {
		return nil, j.PublicError(&protocol.RejectedError{PersistenceID: pid, Index: index, Err: err})
	}
	return &layout.Event{
		Bytes: p.Bytes, SerializerID: p.SerializerID, SerializerManifest: p.Manifest, Manifest: manifest,
		Metadata: metadata, Outside: put,
	}, nil
}

// EncodePayload returns the stored form of a value. If the stored form is a reference to a payload
// outside of the journal, put is the time before that payload was stored: see package outside.
// Otherwise put is nil.
func (j *Journal) EncodePayload(ctx context.Context, value any) (p serialization.Payload, put *clock.Moment, err error) {
	start := j.Clock.Now()
	p, err = j.Serialization.Encode(ctx, value)
	if err == nil && p.SerializerID == serialization.IDExternal {
		at := start // so that only these payloads allocate it
		put = &at
	}
	return p, put, err
}

// EncodeCommand returns the stored form of an event that a command has recorded. It also returns
// the size in bytes of everything in it that comes from the caller: payload, manifests, metadata
// values and tags. at is the time of the event, unless it is zero. mark is stored with the event if
// mark.ID is not empty.
func (j *Journal) EncodeCommand(
	ctx context.Context, pid string, event *New, at time.Time, mark CommandMark,
) (*layout.Event, int, error) {
	e, err := j.Encode(ctx, pid, event, 0)
	if err != nil {
		return nil, 0, err
	}
	if j.Protocol.Metadata {
		e.Metadata.Time = layout.Microseconds(at)
	}
	if mark.ID != "" {
		if err := addMark(&e.Metadata, mark); err != nil {
			return nil, 0, j.PublicError(&protocol.RejectedError{PersistenceID: pid, Err: err})
		}
	}
	size := len(e.Bytes) + len(e.SerializerManifest) + len(e.Manifest)
	for key, value := range e.Metadata.Values {
		size += len(key) + len(value)
	}
	for _, tag := range e.Metadata.Tags {
		size += len(tag)
	}
	if most := j.MaxItemSize; size > most {
		err := errors.New("bytes of its payload and metadata")
		return nil, 0, j.PublicError(&protocol.RejectedError{PersistenceID: pid, Size: size, Limit: most, Err: err})
	}
	return e, size, nil
}

// addMark adds the mark of a command to the metadata of its first event.
func addMark(m *layout.Metadata, mark CommandMark) error {
	if m.Values == nil {
		m.Values = map[string]string{}
	}
	m.Values[commandKey] = mark.ID
	if mark.Events > 1 {
		m.Values[eventsKey] = strconv.Itoa(mark.Events)
	}
	return m.Check()
}

// metadata returns the metadata to store with an event.
func (j *Journal) metadata(e *New) (layout.Metadata, error) {
	if len(e.Metadata) == 0 && len(e.Tags) == 0 {
		return layout.Metadata{}, nil
	}
	if !j.Protocol.Metadata {
		return layout.Metadata{}, ErrNoMetadata
	}
	for key := range e.Metadata {
		if strings.HasPrefix(key, reservedPrefix) {
			return layout.Metadata{}, fmt.Errorf("its metadata key %q: the prefix %q is reserved", key, reservedPrefix)
		}
	}
	m := layout.Metadata{Values: maps.Clone(e.Metadata), Tags: slices.Compact(slices.Sorted(slices.Values(e.Tags)))}
	return m, m.Check()
}
