package main

import (
	"github.com/dynajournal/dynajournal"
	records "github.com/dynajournal/dynajournal/internal/history"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// archivedRecord converts a record of a journal to a record of an archive.
func archivedRecord(r *dynajournal.Record) *records.Record {
	return &records.Record{
		Kind:               records.Kind(r.Kind),
		SequenceNumber:     r.SequenceNumber,
		Last:               r.Last,
		WriterUUID:         r.WriterUUID,
		Manifest:           r.Manifest,
		SerializerID:       r.SerializerID,
		SerializerManifest: r.SerializerManifest,
		Bytes:              r.Bytes,
		Time:               layout.Microseconds(r.Time),
		Metadata:           r.Metadata,
		Tags:               r.Tags,
		BatchFirst:         r.BatchFirst,
		BatchLast:          r.BatchLast,
		Behind:             r.Behind,
		Purged:             r.Purged,
	}
}

// recordOf converts a record of an archive to a record of a journal.
func recordOf(r *records.Record) dynajournal.Record {
	return dynajournal.Record{
		Kind:               dynajournal.RecordKind(r.Kind),
		SequenceNumber:     r.SequenceNumber,
		Last:               r.Last,
		WriterUUID:         r.WriterUUID,
		Manifest:           r.Manifest,
		SerializerID:       r.SerializerID,
		SerializerManifest: r.SerializerManifest,
		Bytes:              r.Bytes,
		Time:               layout.TimeOf(r.Time),
		Metadata:           r.Metadata,
		Tags:               r.Tags,
		BatchFirst:         r.BatchFirst,
		BatchLast:          r.BatchLast,
		Behind:             r.Behind,
		Purged:             r.Purged,
	}
}
