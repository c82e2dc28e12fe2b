package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/legacy"
)

type tablesCreateCommand struct {
	SharedWithJVM bool   `name:"shared-with-jvm" help:"Create tables that Akka's or Pekko's plug-in can use, with its indexes and 10 shards. Default: native tables, 1 shard."`
	Projections   bool   `help:"Also create the table that package projection needs, for a new or an existing journal."`
	Stream        bool   `help:"Also enable a stream on the journal table, for a new or an existing journal: projections read the stream."`
	Billing       string `enum:"on-demand,provisioned" default:"on-demand" help:"How capacity is billed: ${enum}. Default: on-demand."`
	RCU           int64  `name:"rcu" placeholder:"N" help:"Read capacity units of each table and index. Required if provisioned."`
	WCU           int64  `name:"wcu" placeholder:"N" help:"Write capacity units of each table and index. Required if provisioned."`
}

// Help returns the text below the help of the flags.
func (*tablesCreateCommand) Help() string {
	return "For each table it reports whether the table was created or existed before. For the journal table it also reports " +
		"whether the header was written, and why not. With --shared-with-jvm it reports the settings that the JVM's " +
		"configuration needs. An existing table of a JVM gets a header only if --sequence-shards sets the JVM's number."
}

// Run runs the command.
func (c *tablesCreateCommand) Run(ctx context.Context, s *session) error {
	if err := c.usage(s.location); err != nil {
		return err
	}
	if s.location.isLegacy() {
		return s.legacyTable(ctx, string(types.TableStatusActive), legacy.CreateTable)
	}
	return s.tables(ctx, func(config dynajournal.Config) error { return c.create(ctx, s, config) })
}

func (c *tablesCreateCommand) usage(l *location) error {
	provisioned := c.Billing == "provisioned"
	switch {
	case provisioned && (c.RCU < 1 || c.WCU < 1):
		return usagef("--billing provisioned needs --rcu and --wcu, of at least 1")
	case !provisioned && (c.RCU != 0 || c.WCU != 0):
		return usagef("--rcu and --wcu need --billing provisioned")
	case l.isLegacy() && (c.SharedWithJVM || provisioned || c.Projections || c.Stream):
		return usagef("--layout %s does not support --shared-with-jvm, --projections, --stream and --billing provisioned", l.Layout)
	}
	return nil
}

// create creates the tables of a configuration, and prints for each table whether it was created.
func (c *tablesCreateCommand) create(ctx context.Context, s *session, config dynajournal.Config) error {
	before, err := dynajournal.DescribeTables(ctx, config)
	if err != nil {
		return err
	}
	for _, name := range beingDeleted(before) {
		if err := s.message("%s is being deleted: waiting up to 10 minutes until it is gone, to create it again",
			printable(name)); err != nil {
			return err
		}
	}
	opts := dynajournal.TableOptions{
		SharedWithJVM: c.SharedWithJVM, ReadUnits: c.RCU, WriteUnits: c.WCU, Projections: c.Projections,
		Stream: c.Stream,
	}
	if err := dynajournal.CreateTables(ctx, config, opts); err != nil {
		return err
	}
	after, err := dynajournal.DescribeTables(ctx, config)
	if err != nil {
		return err
	}
	for _, r := range c.created(config, before, after) {
		if err := s.result.write(r); err != nil {
			return err
		}
	}
	return nil
}

// beingDeleted returns the names of the tables that are being deleted.
func beingDeleted(tables []dynajournal.Table) []string {
	var names []string
	for _, t := range tables {
		if t.Status == string(types.TableStatusDeleting) {
			names = append(names, t.Name)
		}
	}
	return names
}

// The outcomes for the journal's header.
const (
	headerWritten = "written"
	headerExists  = "exists"
	headerNone    = "none"
)

// createdResult is a table, and the outcome of its creation.
type createdResult struct {
	tableResult

	// Created reports whether the table was created. Otherwise it existed before.
	Created bool `json:"created"`
	// Header is the outcome for the header of the journal, empty for a snapshot table.
	// HeaderDetail is the reason, empty for a snapshot table.
	Header       string `json:"header,omitempty"`
	HeaderDetail string `json:"header_detail,omitempty"`
	// Notes describe what an existing table lacks, and what to do.
	Notes []string `json:"notes,omitempty"`
	// JVM has the settings that the JVM's configuration needs.
	JVM map[string]any `json:"jvm_config,omitempty"`

	journal string
}

func (r createdResult) text() string {
	var text strings.Builder
	text.WriteString(r.tableResult.text())
	if r.Created {
		text.WriteString("\n  created")
	} else {
		text.WriteString("\n  existed before")
	}
	for _, note := range r.Notes {
		text.WriteString("\n  note: " + note)
	}
	if r.Header != "" {
		fmt.Fprintf(&text, "\n  header of journal %s: %s: %s",
			printable(r.journal), r.Header, r.HeaderDetail)
	}
	if len(r.JVM) > 0 {
		text.WriteString("\n  the JVM's configuration must say:")
	}
	for _, key := range slices.Sorted(maps.Keys(r.JVM)) {
		value, err := json.Marshal(r.JVM[key]) // strings of JSON are strings of HOCON
		if err != nil {
			value = fmt.Append(nil, r.JVM[key])
		}
		fmt.Fprintf(&text, "\n    %s = %s", key, value)
	}
	return text.String()
}

// created returns the tables with the outcome for each.
func (c *tablesCreateCommand) created(
	config dynajournal.Config, before, after []dynajournal.Table,
) []createdResult {
	set := newSettings(config)
	var results []createdResult
	for _, t := range after {
		old, existed := tableNamed(before, t.Name)
		r := createdResult{tableResult: newTableResult(t), Created: !existed}
		isJournal := t.Name == set.journalTable.value
		if isJournal {
			r.journal = set.journalName.value
			r.Header, r.HeaderDetail = headerOutcome(old, t)
		}
		lacks := lacksSnapshotIndex(t)
		if isJournal {
			lacks = lacksIDsIndex(t, set.index.value)
		}
		if !c.SharedWithJVM {
			lacks = nil // a native journal has other indexes
		}
		for _, d := range lacks {
			r.Notes = append(r.Notes, d.Found+": "+d.Advice)
		}
		if c.SharedWithJVM && isJournal {
			r.JVM = jvmConfig(set, t)
		}
		results = append(results, r)
	}
	return results
}

func tableNamed(tables []dynajournal.Table, name string) (dynajournal.Table, bool) {
	i := slices.IndexFunc(tables, func(t dynajournal.Table) bool { return t.Name == name })
	if i < 0 {
		return dynajournal.Table{}, false
	}
	return tables[i], true
}

// headerOutcome returns the outcome for the journal's header, and the reason.
func headerOutcome(before, after dynajournal.Table) (outcome, detail string) {
	says := fmt.Sprintf("it says %s, %d shards", after.Kind, after.Shards)
	switch {
	case after.Kind == "":
		return headerNone, fmt.Sprintf("the table existed before, and only the JVM's configuration says "+
			"how many shards its journal has: give that number as --sequence-shards to write the header "+
			"(a JVM that does not set sequence-shards has %d); without a header every program needs the number",
			dynajournal.DefaultSequenceShards)
	case before.Kind != "":
		return headerExists, "it existed before; " + says
	default:
		return headerWritten, says
	}
}

// jvmConfig returns the settings that the JVM's configuration needs for a shared journal. Without a
// header, the number of shards is not known and is left out.
func jvmConfig(set settings, journal dynajournal.Table) map[string]any {
	const events, snapshots, lists = "dynamodb-journal.", "dynamodb-snapshot-store.", "dynamodb-read-journal."
	must := map[string]any{
		events + set.journalTable.key:     set.journalTable.value,
		events + set.journalName.key:      set.journalName.value,
		snapshots + set.snapshotTable.key: set.snapshotTable.value,
		lists + set.index.key:             set.index.value,
	}
	if journal.Shards > 0 {
		must[events+set.shards.key] = journal.Shards
	}
	return must
}
