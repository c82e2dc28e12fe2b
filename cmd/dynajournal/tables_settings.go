package main

import (
	"strconv"

	"github.com/dynajournal/dynajournal"
)

// setting is the value of a key in a JVM's configuration.
type setting struct {
	key, value string
	// set reports whether the file sets the key. Otherwise the value is the plug-in's default.
	set bool
}

func settingOf(key, value, byDefault string) setting {
	return setting{key, first(value, byDefault), value != ""}
}

// settings are the settings of a configuration that concern the tables.
type settings struct {
	journalTable, snapshotTable, journalName, shards, index setting
}

func newSettings(c dynajournal.Config) settings {
	shards := ""
	if c.SequenceShards != 0 {
		shards = strconv.Itoa(c.SequenceShards)
	}
	const index = "persistence-ids-index-name"
	return settings{
		settingOf("journal-table", c.JournalTable, dynajournal.DefaultJournalTable),
		settingOf("snapshot-table", c.SnapshotTable, dynajournal.DefaultSnapshotTable),
		settingOf("journal-name", c.JournalName, dynajournal.DefaultJournalName),
		settingOf("sequence-shards", shards, strconv.Itoa(dynajournal.DefaultSequenceShards)),
		settingOf(index, c.IDsIndexName, dynajournal.DefaultIDsIndexName),
	}
}
