package main

import (
	"fmt"

	"github.com/dynajournal/dynajournal"
)

// difference is a difference between the tables and a file, or between the tables and what the
// plug-in needs.
type difference struct {
	Table string `json:"table"`
	// Key is the key of the file, empty if the plug-in has none for it.
	Key string `json:"key"`
	// Says is the setting of the file, Found what the tables have, Advice what to do.
	Says   string `json:"says"`
	Found  string `json:"found"`
	Advice string `json:"advice"`
	// Matters reports whether a program fails or reads wrongly; else it is a note.
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
		d.Advice = "if persistence ids are to be listed, add it with `dynajournal tables update`"
	case i.Local || !listsIDs(i.Keys):
		d.Matters = true
		d.Found = "index " + printable(name) + " is not a global one by num (N)"
		d.Advice = "name another index: lists of persistence ids by this one fail"
	case i.Status != "ACTIVE":
		d.Found = "index " + printable(name) + " is " + i.Status
		d.Advice = "wait until it is ACTIVE: lists of persistence ids fail"
	default:
		return nil
	}
	return []difference{d}
}

// listsIDs reports whether an index of a key can list persistence ids: by num, with or without par.
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

// lacksSnapshotIndex is a difference if a snapshot table lacks the index by timestamp.
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
