package main

import (
	"github.com/dynajournal/dynajournal"
	records "github.com/dynajournal/dynajournal/internal/history"
	"github.com/dynajournal/dynajournal/internal/private"
)

// archivedRecord returns the form of a record in an archive.
func archivedRecord(r *dynajournal.Record) *records.Record { return private.HistoryRecord(r) }

// recordOf returns the journal's form of a record of an archive.
func recordOf(r *records.Record) dynajournal.Record {
	var record dynajournal.Record
	private.SetRecord(&record, r)
	return record
}
