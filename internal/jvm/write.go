package jvm

import (
	"context"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Write is an atomic write: events from a number on.
type Write struct {
	PersistenceID string
	First         int64
	Writer        string
	Events        []NewEvent
}

// NewEvent is an event to write.
type NewEvent struct {
	Payload
	// Adapter is the event adapter's manifest.
	Adapter string
}

// RejectionError reports why the plug-in rejects a write. The numbers of the write are used up.
type RejectionError struct {
	PersistenceID  string
	SequenceNumber int64
	// Size is the size of the item by the plug-in's estimate.
	Size int
}

func (e *RejectionError) Error() string {
	return fmt.Sprintf("write %d of %q: the item has %d bytes", e.SequenceNumber, e.PersistenceID, e.Size)
}

// Write writes without any condition. A single event is put together with its high mark if its
// number is the first of a partition. Several events are put together, followed by the high mark of
// the last event's partition, unless the number before the first event is in the same partition.
func (p *Plugin) Write(ctx context.Context, w Write) error {
	items := make([]item, len(w.Events))
	for n, e := range w.Events {
		seq := w.First + int64(n)
		if size := p.estimate(w, seq, e); size > p.MaxItemSize {
			return &RejectionError{w.PersistenceID, seq, size}
		}
		items[n] = p.eventItem(w, seq, e)
	}
	if len(items) == 0 {
		return nil
	}
	last := w.First + int64(len(items)) - 1
	marked := (w.First-1)/block != last/block
	if len(items) == 1 {
		if marked = last%block == 0; !marked {
			return p.put(ctx, p.journalTable, items[0])
		}
	}
	var writes []types.WriteRequest
	for n, i := range items {
		if len(items) > 1 {
			i["idx"], i["cnt"] = number(int64(n)), number(int64(len(items)-1))
		}
		writes = append(writes, putRequest(i))
	}
	if marked {
		writes = append(writes, putRequest(p.markItem(highMark, w.PersistenceID, last)))
	}
	return p.write(ctx, p.journalTable, writes)
}

func (p *Plugin) eventItem(w Write, seq int64, e NewEvent) item {
	i := p.eventKey(w.PersistenceID, seq)
	i["persistence_id"] = text(w.PersistenceID)
	i["seq"] = number(seq)
	i["event"] = binary(e.Bytes)
	i["writer_uuid"] = text(w.Writer)
	i["ev_ser_id"] = number(int64(e.Serializer))
	if e.Manifest != "" {
		i["ev_ser_manifest"] = text(e.Manifest)
	}
	if e.Adapter != "" {
		i["manifest"] = text(e.Adapter)
	}
	return i
}

// keyOverhead is the plug-in's estimate of the key of an item.
const keyOverhead = 26

// estimate returns the plug-in's estimate of the size of an item.
func (p *Plugin) estimate(w Write, seq int64, e NewEvent) int {
	// Java counts the characters of the key in UTF-16.
	size := keyOverhead + utf16Length(w.PersistenceID) + utf16Length(p.journalName)
	size += len(e.Bytes) + len(strconv.Itoa(int(e.Serializer))) + len(e.Manifest)
	return size + len(w.PersistenceID) + len(strconv.FormatInt(seq, 10)) + len(w.Writer) + len(e.Adapter)
}

func utf16Length(s string) int {
	n := 0
	for _, r := range s {
		if n++; r > 0xFFFF {
			n++
		}
	}
	return n
}
