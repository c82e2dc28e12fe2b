package main

import (
	"fmt"

	"github.com/dynajournal/dynajournal"
)

// difference is a difference between the tables and a file, or between the tables and the needs of
// the plug-in.
type difference struct {
	Table string `json:"table"`
	// Key is the key of the file. It is empty if the plug-in does not have a key for the setting.
	Key string `json:"key"`
	// Says is the setting of the file.
	// Found is the value in the tables.
	// Advice says how to fix the difference.
	Says   string `json:"says"`
	Found  string `json:"found"`
	Advice string `json:"advice"`
	// Matters reports whether a program fails or reads wrong data. Otherwise the difference is a
	// note.
	Matters bool `json:"matters"`
}

func (d difference) text() string {
	kind := "note"
	if d.Matters {
		kind = "differs"
	}
	return fmt.Sprintf("%s: %s: %s / %s / %s", kind, printable(d.Table), d.Says, d.Found, d.Advice)
}

// snapshotIndex is the index of snapshots by their timestamp.
const snapshotIndex = "ts-idx"

// lacksIDsIndex returns a difference if the plug-in can't use the index that lists persistence ids.
// A missing index matters only to programs that list ids.
func lacksIDsIndex(t dynajournal.Table, name string) []difference {
	d := difference{Table: t.Name}
	i, exists := index(t, name)
	switch {
	case !exists:
		d.Found = "there is no index " + printable(name)
		d.Advice = "to list persistence ids, add it with `dynajournal tables update`"
	case i.Local || !listsIDs(i.Keys):
		d.Matters = true
		d.Found = "index " + printable(name) + " is not a global index by num (N)"
		d.Advice = "name another index: with this one, listing persistence ids fails"
	case i.Status != "ACTIVE":
		d.Found = "index " + printable(name) + " is " + i.Status
		d.Advice = "wait until it is ACTIVE: before that, listing persistence ids fails"
	default:
		return nil
	}
	return []difference{d}
}

// listsIDs reports whether an index with these keys can list persistence ids: num, with or without
// par.
func listsIDs(keys []dynajournal.KeyAttribute) bool {
	switch len(keys) {
	case 1:
		return keyText(keys[0]) == "num (N)"
	case 2:
		return keyText(keys[0]) == "num (N)" && keyText(keys[1]) == "par (S)"
	default:
		return false
	}
}

// lacksSnapshotIndex returns a difference if a snapshot table lacks the index by timestamp.
func lacksSnapshotIndex(t dynajournal.Table) []difference {
	if i, exists := index(t, snapshotIndex); exists && i.Local {
		return nil
	}
	return []difference{{
		Table: t.Name,
		Found: "there is no index " + snapshotIndex,
		Advice: "name another snapshot table, made by `dynajournal tables create --shared-with-jvm`: " +
			"persistent actors don't start without the index, and it can't be added",
		Matters: true,
	}}
}

func index(t dynajournal.Table, name string) (dynajournal.Index, bool) {
	for _, i := range t.Indexes {
		if i.Name == name {
			return i, true
		}
	}
	return dynajournal.Index{}, false
}
