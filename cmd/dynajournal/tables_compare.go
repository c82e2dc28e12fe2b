package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
)

// comparison compares a JVM's configuration file with tables.
type comparison struct {
	path string
	// file has the settings of the file.
	// used has the settings that selected the described tables. It differs from file only where a
	// flag or the environment overrides the file.
	file, used settings
	found      []difference
}

// add adds a difference in a key of the file.
func (c *comparison) add(table string, s setting, matters bool, found, advice string) {
	says := fmt.Sprintf("%s says %s = %s", printable(c.path), s.key, printable(s.value))
	if !s.set {
		says = fmt.Sprintf("%s does not set %s: it is %s", printable(c.path), s.key, printable(s.value))
	}
	c.found = append(c.found, difference{table, s.key, says, found, advice, matters})
}

// need adds a difference that no key of the file causes.
func (c *comparison) need(d difference) {
	d.Says = printable(c.path) + " has no key for it"
	c.found = append(c.found, d)
}

// compare returns the differences. Differences of names come first.
func (c *comparison) compare(tables []dynajournal.Table) []difference {
	journalTable, snapshotTable := c.used.journalTable.value, c.used.snapshotTable.value
	c.name(journalTable, c.file.journalTable, c.used.journalTable)
	c.name(snapshotTable, c.file.snapshotTable, c.used.snapshotTable)
	c.name(journalTable, c.file.journalName, c.used.journalName)
	journal, usable := c.table(tables, journalTable, c.file.journalTable, "par (S), num (N)")
	if usable {
		c.journal(journal)
	}
	snapshots, usable := c.table(tables, snapshotTable, c.file.snapshotTable, "par (S), seq (N)")
	if usable && journal.Kind != kindNative {
		for _, d := range lacksSnapshotIndex(snapshots) {
			c.need(d)
		}
	}
	return c.found
}

// name compares a name in the file with the name that was used for the description.
func (c *comparison) name(table string, file, used setting) {
	if file.value != used.value {
		flag := "--" + file.key
		variable := "$DYNAJOURNAL_" + strings.ToUpper(strings.ReplaceAll(file.key, "-", "_"))
		c.add(table, file, true,
			fmt.Sprintf("%s or %s says %s, which overrides the file", flag, variable, printable(used.value)),
			"correct one of the two")
	}
}

// table makes the comparisons that apply to both tables. It reports whether the table exists with
// the key that it needs.
func (c *comparison) table(
	tables []dynajournal.Table, name string, s setting, want string,
) (dynajournal.Table, bool) {
	t, exists := tableNamed(tables, name)
	if !exists {
		c.add(name, s, true, "there is no table "+printable(name),
			"correct the name, or make it with "+c.create())
		return t, false
	}
	keys := make([]string, len(t.Keys))
	for i, k := range t.Keys {
		keys[i] = keyText(k)
	}
	if found := strings.Join(keys, ", "); found != want {
		c.add(name, s, true, fmt.Sprintf("its key is %s instead of %s", found, want), keyAdvice(found))
		return t, false
	}
	if t.Status != "ACTIVE" && t.Status != "UPDATING" {
		c.add(name, s, true, "the table is "+t.Status, "wait until it is ACTIVE: it can't be used before")
	}
	return t, true
}

// create returns the command that creates the tables, or the header, with the settings of the file.
func (c *comparison) create() string {
	return fmt.Sprintf("`dynajournal tables create --shared-with-jvm --sequence-shards %s`",
		c.file.shards.value)
}

// keyAdvice returns the advice for a table with a wrong key.
func keyAdvice(keys string) string {
	const migrate = "copy it with `dynajournal migrate --from-layout "
	switch keys {
	case "key (S)":
		return migrate + "hash-key`, or hash-key-unprefixed: it is of the layout of 0.3"
	case "persistenceId (S), sequenceNr (N)":
		return migrate + "naive`: it is of the layout before Akka 1.0"
	case "processorId (S), sequenceNr (N)":
		return migrate + "naive-processor`: it is of the layout before Akka 1.0"
	case "par (S), num (N)":
		return "correct the name: it is a table of events"
	case "par (S), seq (N)":
		return "correct the name: it is a table of snapshots"
	default:
		return "correct the name: this is not a table of the plug-in"
	}
}

const (
	kindNative = "native"
	// nativeIndex is the index of persistence ids of native journals.
	nativeIndex = "ids-idx"
	// ttlAttribute is the attribute by which tombstones expire.
	ttlAttribute = "expires"
)

// journal compares the header, the indexes and the expiry of the journal table.
func (c *comparison) journal(t dynajournal.Table) {
	if !c.header(t) {
		return
	}
	for _, d := range lacksIDsIndex(t, c.file.index.value) {
		c.add(t.Name, c.file.index, d.Matters || c.file.index.set, d.Found, d.Advice)
	}
	for _, i := range t.Indexes {
		if !i.Local && i.WriteUnits < t.WriteUnits {
			c.need(difference{
				Table: t.Name,
				Found: fmt.Sprintf("index %s has %d write units, the table has %d",
					printable(i.Name), i.WriteUnits, t.WriteUnits),
				Advice: "give the index as many: every write also goes to the index, and waits for it",
			})
		}
	}
	c.expiry(t)
}

// header compares the journal's header, and reports whether a JVM can use the journal.
func (c *comparison) header(t dynajournal.Table) bool {
	name := printable(c.used.journalName.value)
	header := "the header of journal " + name
	_, native := index(t, nativeIndex)
	switch {
	case t.Version != 0 && t.Kind == "":
		c.add(t.Name, c.file.journalName, true,
			fmt.Sprintf("%s has format version %d", header, t.Version),
			"use a newer release of dynajournal")
		return false
	case t.Kind == kindNative:
		c.add(t.Name, c.file.journalName, true,
			fmt.Sprintf("%s says native, %d shards", header, t.Shards),
			"make other tables with "+c.create()+" and copy the journal with `dynajournal migrate`: "+
				"only Go programs can use a native journal")
		return false
	case t.Kind == "" && native:
		c.add(t.Name, c.file.journalName, true,
			"the table is for native journals, and has no header of journal "+name,
			"correct journal-name; if the creation of a native journal was interrupted, "+
				"call `dynajournal tables create` again")
		return false
	case t.Kind == "":
		c.add(t.Name, c.file.shards, false, "journal "+name+" has no header",
			"if it should have one, correct journal-name; otherwise write it with "+c.create()+
				", so that no program uses another number")
	case strconv.Itoa(t.Shards) != c.file.shards.value:
		c.add(t.Name, c.file.shards, true, fmt.Sprintf("%s says %d shards", header, t.Shards),
			fmt.Sprintf("set sequence-shards = %d in %s: with another number, highest sequence "+
				"numbers are lost", t.Shards, printable(c.path)))
	}
	return true
}

// expiry compares the expiry of items with what tombstones need.
func (c *comparison) expiry(t dynajournal.Table) {
	const update = "`dynajournal tables update`: otherwise tombstones are never removed"
	d := difference{Table: t.Name}
	switch {
	case t.TTL == ttlAttribute || t.TTLStatus == "":
		return
	case t.TTL != "":
		d.Found = fmt.Sprintf("items expire by %s (%s), tombstones have %s",
			printable(t.TTL), t.TTLStatus, ttlAttribute)
		d.Advice = "a table can have only one such attribute: turn this one off, and call " + update
	case t.MultiRegionConsistency == string(types.MultiRegionConsistencyStrong):
		d.Found = "items can't expire: the table is strongly consistent in several Regions"
		d.Advice = "remove expired tombstones with `dynajournal repair`"
	case t.TTLStatus == "DISABLING":
		d.Found = "expiry is being turned off (DISABLING)"
		d.Advice = "wait until it is off, and call " + update
	default:
		d.Found = fmt.Sprintf("items do not expire (%s)", t.TTLStatus)
		d.Advice = "call " + update
	}
	c.need(d)
}
