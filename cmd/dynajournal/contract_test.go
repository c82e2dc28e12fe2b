package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/testsize"
)

func TestEachCommandHasTheKeysOfTheContract(t *testing.T) {
	testsize.NoRace(t, "it does one thing after the other")
	clean(t)
	const appended = "persistence_id sequence_nr writer_uuid"
	const about = " keys kind point_in_time_recovery read_units shards status stream table ttl ttl_status write_units"
	const size, unchanged = "billing bytes class ", "deletion_protection encryption fence_window format_version "
	const table, made = size + unchanged + "indexes items" + about, size + "created " + unchanged + "indexes items" + about
	const madeJournal = size + "created " + unchanged + "header header_detail indexes items" + about
	const copied = "events persistence_ids snapshots"
	file := filepath.Join(t.TempDir(), "archive")
	const snapshot = "payload payload_base64 persistence_id sequence_nr serializer_id serializer_manifest timestamp"
	const event = "manifest payload payload_base64 persistence_id sequence_nr serializer_id serializer_manifest time writer_uuid"
	for _, c := range []struct {
		args string
		want []string
	}{
		{"tables create", []string{madeJournal, made}},
		{"tables describe", []string{table, table}},
		{"tables update", []string{table, table}},
		{"append a --string x --bytes-base64 eA== --string y", []string{appended, appended, appended}},
		{"append a --string x --string y --atomic", []string{appended, appended}},
		{"events a", []string{event, event, event, event, event}},
		{"events a --from 2 --to 4 --max 2", []string{event, event}},
		{"events a --max 0", nil},
		{"events never-written", nil},
		{"highest a", []string{"highest lowest persistence_id"}},
		{"list a", []string{"high_marks low_marks persistence_id seals sequence_nrs tombstones"}},
		{"ids", []string{"persistence_id"}},
		{"snapshot save a --seq 2 --string s", []string{snapshot}},
		{"snapshot save a --seq 5 --string s", []string{snapshot}},
		{"snapshots a", []string{snapshot, snapshot}},
		{"snapshot load a", []string{snapshot}},
		{"snapshot delete a --max-seq 2", []string{snapshot}},
		{"verify --all", nil},
		{"repair --all", nil},
		{"export --all " + file, []string{"checksum " + copied}},
		{"import " + file, []string{"already_there checksum events persistence_ids refused snapshots snapshots_written written"}},
		{"migrate --from-layout current --from-table pekko-persistence --to-data " +
			filepath.Join(t.TempDir(), "target"), []string{copied}},
		{"migrate --from-layout pay --from-table pekko-persistence", []string{copied}},
		{"delete a --to 2", []string{"highest lowest persistence_id removed"}},
		{"purge a --yes", []string{"persistence_id removed"}},
		{"tables update --stream --projections", []string{table, table, table}},
		{"tables describe", []string{table, table, table}},
		{"tables delete --yes", []string{table, table, table}},
		{"version", []string{"commit go version"}},
	} {
		found := must(t, append(strings.Fields(c.args), "--output", "json")...)
		var got []string
		for _, r := range found {
			got = append(got, keys(r))
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: keys %q, want %q", c.args, got, c.want)
		}
	}
}

func TestBenchHasTheKeysOfTheContract(t *testing.T) {
	testsize.NeedsLong(t, "it measures for a second")
	clean(t)
	t.Setenv(asCommand, "1") // for the engine, which runs in its own process
	found := must(t, "bench", "--quick", "--only", "recover-5")
	var names []string
	for _, r := range found {
		if got := keys(r); got != "base name ratio unit value" {
			t.Errorf("keys %q", got)
		}
		if value, base := r["value"].(float64), r["base"].(float64); r["ratio"] != value/base {
			t.Errorf("%v: the ratio is not %v / %v", r, value, base)
		}
		names = append(names, r["name"].(string))
	}
	if got := strings.Join(names, " "); got != "recover-5/p50 recover-5/p99 recover-5/requests recover-5/read-units" {
		t.Errorf("figures %q", got)
	}
}

func TestBenchCountsWhatTheNetworkCarries(t *testing.T) {
	testsize.NeedsLong(t, "it measures for some seconds")
	clean(t)
	t.Setenv(asCommand, "1") // for the engine and the network, which run in their own processes
	found := must(t, "bench", "--quick", "--only", "network-cold", "--network", "--network-p50", "1ms",
		"--network-p99", "2ms")
	figures := map[string]map[string]any{}
	for _, r := range found {
		figures[r["name"].(string)] = r
	}
	for _, suffix := range []string{"", "-ungrouped", "-connected"} {
		for _, what := range []string{"events", "p50", "p99", "p99.9", "cpu", "requests", "connections"} {
			f := figures["network-cold/"+what+suffix]
			if f == nil || f["value"].(float64) <= 0 || f["base"].(float64) <= 0 {
				t.Errorf("%s%s: %v", what, suffix, f)
			}
		}
	}
	// The bare SDK sends a Query and a PutItem.
	if got := figures["network-cold/requests"]["base"]; got != 2.0 {
		t.Errorf("the bare SDK has sent %v requests for an event, want 2", got)
	}
}

func TestBenchRefusesUnknownWorkloads(t *testing.T) {
	clean(t)
	t.Setenv(asCommand, "1")
	for args, want := range map[string]string{
		"bench --only wirte": `dynajournal: bench: --only: there is no such workload: "wirte"; there are write-1,`,
		"bench --events -1":  "dynajournal: bench: --events and --entities must be at least 1",
		"bench --entities 0": "dynajournal: bench: --events and --entities must be at least 1",

		"bench --network --network-p99 1ms":             "dynajournal: bench: --network-p50 4ms must be positive, and",
		"bench --network --endpoint https://a.invalid/": "dynajournal: bench: --network needs an endpoint http://HOST:PORT",
	} {
		o := invoke(t.Context(), "", strings.Fields(args)...)
		if o.status == statusDone || !strings.HasPrefix(o.err, want) || strings.Count(o.err, "\n") != 1 || o.out != "" {
			t.Errorf("%s: %+v", args, o)
		}
	}
}

func TestOutput_JSONWithoutTerminal(t *testing.T) {
	clean(t)
	must(t, "append", "a", "--string", "x")
	if got := must(t, "highest", "a"); len(got) != 1 || got[0]["highest"] != 1.0 {
		t.Errorf("highest: %v", got)
	}
	if o := invoke(t.Context(), "", "highest", "a", "--output", "text"); o.out != "a: lowest 0, highest 1\n" {
		t.Errorf("text: %q", o.out)
	}
}

func TestResultsOfCommands(t *testing.T) {
	clean(t)
	o := invoke(t.Context(), `{ "n": [1, 2.50] }`, "append", "a", "--string", "s,t", "--json", "-",
		"--bytes-base64", "AP8=", "--manifest", "bank.Opened")
	if o.status != statusDone {
		t.Fatal(o.err)
	}
	found := must(t, "events", "a")
	for i, want := range []map[string]any{
		{"sequence_nr": 1.0, "serializer_id": 20.0, "payload": "s,t", "payload_base64": "cyx0",
			"serializer_manifest": ""},
		{
			"sequence_nr": 2.0, "serializer_id": 31.0, "payload": map[string]any{"n": []any{1.0,
				2.5}}, "payload_base64": "eyJuIjpbMSwyLjUwXX0=",
			"serializer_manifest": "bank.Opened",
		},
		{"sequence_nr": 3.0, "serializer_id": 4.0, "payload": "AP8=", "payload_base64": "AP8=",
			"serializer_manifest": ""},
	} {
		for key, value := range want {
			if !reflect.DeepEqual(found[i][key], value) {
				t.Errorf("event %d: %s is %v, want %v", i+1, key, found[i][key], value)
			}
		}
	}
	if got := must(t, "delete", "a", "--to", "2")[0]; got["lowest"] != 3.0 || got["highest"] != 3.0 ||
		got["removed"] != 2.0 {
		t.Errorf("delete: %v", got)
	}
	if got := must(t, "highest", "a")[0]; got["lowest"] != 3.0 || got["highest"] != 3.0 {
		t.Errorf("highest: %v", got)
	}
	want := map[string]any{
		"persistence_id": "a", "low_marks": []any{3.0}, "high_marks": []any{}, "sequence_nrs": []any{3.0}, "tombstones": []any{1.0, 2.0}, "seals": []any{},
	}
	if got := must(t, "list", "a")[0]; !reflect.DeepEqual(got, want) {
		t.Errorf("list: %v, want %v", got, want)
	}
	if got := must(t, "purge", "a", "--yes", "--now")[0]; got["removed"] != 1.0 {
		t.Errorf("purge: %v", got)
	}
	if got := must(t, "append", "a", "--string", "again")[0]; got["sequence_nr"] != 1.0 {
		t.Errorf("append after a purge: %v", got)
	}
}

func TestAppendExpects(t *testing.T) {
	clean(t)
	must(t, "append", "a", "--string", "x", "--expect", "1")
	o := invoke(t.Context(), "", "append", "a", "--string", "y", "--expect", "7")
	if o.status != statusFailed || !strings.Contains(o.err, "expected next sequence number 7") ||
		!strings.Contains(o.err, "got 2; nothing written") || o.out != "" {
		t.Errorf("%+v", o)
	}
	if got := numbers(t, must(t, "events", "a"), "sequence_nr"); !reflect.DeepEqual(got, []int64{1}) {
		t.Errorf("events %v were written", got)
	}
}

func TestAtomicIsOneWrite(t *testing.T) {
	clean(t)
	large := strings.Repeat("x", dynajournal.DefaultMaxItemSize+1)
	o := invoke(t.Context(), `"`+large+`"`, "append", "a", "--string", "x", "--json", "-", "--atomic")
	if o.status != statusFailed || !strings.Contains(o.err, "rejected") {
		t.Errorf("%d, %.300s", o.status, o.err)
	}
	if got := must(t, "highest", "a")[0]["highest"]; got != 0.0 {
		t.Errorf("highest %v after a rejected write", got)
	}
	o = invoke(t.Context(), `"`+large+`"`, "append", "a", "--string", "x", "--json", "-", "--string", "z")
	if got := numbers(t, results(t, o.out), "sequence_nr"); o.status != statusFailed ||
		!reflect.DeepEqual(got, []int64{1, 2}) {
		t.Errorf("one by one: %d, %v", o.status, got)
	}
}

func TestTablesCreate(t *testing.T) {
	for name, c := range map[string]struct {
		args   []string
		kind   string
		shards float64
	}{
		"is native with 1 shard":        {nil, "native", 1},
		"is shared with 10 shards":      {[]string{"--shared-with-jvm"}, "shared", 10},
		"is shared with as many as set": {[]string{"--shared-with-jvm", "--sequence-shards", "20"}, "shared", 20},
		"has provisioned capacity": {[]string{"--billing", "provisioned", "--rcu", "5", "--wcu", "6"},
			"native", 1},
	} {
		t.Run(name, func(t *testing.T) {
			clean(t)
			got := must(t, append([]string{"tables", "create"}, c.args...)...)
			if got[0]["table"] != "pekko-persistence" || got[0]["kind"] != c.kind || got[0]["shards"] != c.shards ||
				got[0]["status"] != "ACTIVE" {
				t.Errorf("journal table: %v", got[0])
			}
			if got[1]["table"] != "pekko-persistence-snapshot" {
				t.Errorf("snapshot table: %v", got[1])
			}
		})
	}
}

func TestTablesCreateRefusesANativeJournalOfSeveralShards(t *testing.T) {
	clean(t)
	o := invoke(t.Context(), "", "tables", "create", "--sequence-shards", "3")
	if o.status != statusUsage || !strings.Contains(o.err, "its low mark must be one item") {
		t.Errorf("%+v", o)
	}
	if o := invoke(t.Context(), "", "tables", "describe"); strings.Contains(o.out, "pekko-persistence") {
		t.Errorf("it has made tables: %+v", o)
	}
}

// A native journal of an earlier format can be used after an update.
func TestTablesUpdateRaisesTheVersion(t *testing.T) {
	clean(t)
	must(t, "append", "a", "--string", "x")
	touch(t, func(c *dynamodb.Client) error {
		_, err := c.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
			TableName:                 new("pekko-persistence"),
			Key:                       layout.Keys{Journal: "journal"}.Header().Attributes(),
			UpdateExpression:          new("SET version = :one"),
			ExpressionAttributeValues: map[string]types.AttributeValue{":one": &types.AttributeValueMemberN{Value: "1"}},
		})
		return err
	})
	if o := invoke(t.Context(), "", "events", "a"); o.status == statusDone ||
		!strings.Contains(o.err, "run `dynajournal tables update`, and wait 15 minutes") {
		t.Errorf("before the update: %+v", o)
	}
	if got := must(t, "tables", "describe")[0]["format_version"]; got != 1.0 {
		t.Errorf("before the update the version is %v", got)
	}
	o := invoke(t.Context(), "", "tables", "update")
	if o.status != statusDone || !strings.Contains(o.err, `added format version 2 of journal "journal"; it costs nothing`) {
		t.Errorf("%+v", o)
	}
	if got := results(t, o.out)[0]["format_version"]; got != 2.0 {
		t.Errorf("after the update the version is %v", got)
	}
	if got := must(t, "events", "a"); len(got) != 1 {
		t.Errorf("after the update the events are %v", got)
	}
}

func TestTablesUpdateReportsWhatItAddedAndWhatItCosts(t *testing.T) {
	clean(t)
	must(t, "tables", "create")
	must(t, "append", "a", "--string", "x")
	touch(t, func(c *dynamodb.Client) error {
		_, err := c.UpdateTable(t.Context(), &dynamodb.UpdateTableInput{
			TableName:                   new("pekko-persistence"),
			GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{Delete: &types.DeleteGlobalSecondaryIndexAction{IndexName: new("ids-idx")}}},
		})
		return err
	})
	o := invoke(t.Context(), "", "tables", "update")
	if o.status != statusDone || !strings.Contains(o.err, "added index ids-idx; it costs a write unit") {
		t.Errorf("%+v", o)
	}
	if got := results(t, o.out); !reflect.DeepEqual(got[0]["indexes"], []any{"ids-idx"}) {
		t.Errorf("%v", got)
	}
	if got := must(t, "ids"); len(got) != 1 || got[0]["persistence_id"] != "a" {
		t.Errorf("the new index lists %v", got)
	}
	if o := invoke(t.Context(), "", "tables", "update"); o.status != statusDone || o.err != "nothing was missing\n" {
		t.Errorf("again: %+v", o)
	}
}

func TestRun_EmptyPersistenceIDCreatesNoTable(t *testing.T) {
	clean(t)
	o := invoke(t.Context(), "", "append", "", "--string", "x")
	if want := "dynajournal: append: the persistence id must not be empty\n"; o.status != statusUsage || o.err != want {
		t.Errorf("it ended with %d, %q", o.status, o.err)
	}
	o = invoke(t.Context(), "", "snapshot", "save", "", "--seq", "1", "--string", "x")
	if want := "dynajournal: snapshot save: the persistence id must not be empty\n"; o.status != statusUsage || o.err != want {
		t.Errorf("it ended with %d, %q", o.status, o.err)
	}
	if o := invoke(t.Context(), "", "highest", "a"); !strings.Contains(o.err, "no such table") {
		t.Errorf("a table was made: %q", o.err)
	}
}

func TestFail_OneLineAndStatus(t *testing.T) {
	testsize.NoRace(t, "it does one thing after the other")
	clean(t)
	must(t, "tables", "create")
	folder := t.TempDir()
	conf := filepath.Join(folder, "application.conf")
	if err := os.WriteFile(conf, []byte("dynamodb-journal {"), 0o600); err != nil {
		t.Fatal(err)
	}
	noTables := []string{"--data", filepath.Join(folder, "none")}
	for name, c := range map[string]struct {
		args   []string
		status int
		want   string
	}{
		"no command for a program": {[]string{"--output", "json"}, statusUsage,
			"dynajournal: command line: no command is given"},
		"an unknown command": {[]string{"nope"}, statusUsage,
			`dynajournal: command line: unknown command "nope": dynajournal help lists them`},
		"an unknown flag": {[]string{"events", "a", "--nope"}, statusUsage,
			"dynajournal: command line: unknown flag --nope"},
		"no persistence id":        {[]string{"events"}, statusUsage, "<pid>"},
		"a flag without its value": {[]string{"append", "a", "--string"}, statusUsage, "--string"},
		"a number that is none":    {[]string{"events", "a", "--from", "x"}, statusUsage, "--from"},
		"no event": {[]string{"append", "a"}, statusUsage,
			"dynajournal: append: no event is given"},
		"bytes that are not base64": {[]string{"append", "a", "--bytes-base64", "%"}, statusUsage,
			"--bytes-base64 number 1"},
		"JSON that is none": {[]string{"append", "a", "--json", "-"}, statusUsage,
			"- is not a JSON value"},
		"a file that does not exist": {[]string{"append", "a", "--json", "/does/not/exist"}, statusUsage,
			"no such file"},
		"an empty persistence id": {[]string{"events", ""}, statusUsage, "persistence id"},
		"a persistence id that is too long": {[]string{"events", strings.Repeat("x", 3000)}, statusUsage,
			"persistence id"},
		"a negative sequence number": {[]string{"events", "a", "--from", "-1"}, statusUsage,
			"must not be negative"},
		"delete without a number": {[]string{"delete", "a"}, statusUsage, "--to"},
		"purge without yes":       {[]string{"purge", "a"}, statusUsage, "dynajournal: purge: this removes"},
		"tables delete without yes": {[]string{"tables", "delete"}, statusUsage,
			"dynajournal: tables delete: this deletes"},
		"provisioned without capacity": {[]string{"tables", "create", "--billing", "provisioned"},
			statusUsage, "--rcu"},
		"capacity on demand": {[]string{"tables", "create", "--rcu", "1"}, statusUsage,
			"--billing provisioned"},
		"tail without an id":     {[]string{"tail"}, statusUsage, "or --all"},
		"tail of one and of all": {[]string{"tail", "a", "--all"}, statusUsage, "or --all"},
		"a prefix without all":   {[]string{"tail", "a", "--prefix", "a"}, statusUsage, "--all"},
		"following nothing":      {[]string{"tail", "--all", "--max-ids", "0"}, statusUsage, "--max-ids"},
		"listing nothing":        {[]string{"ids", "--limit", "-1"}, statusUsage, "--limit"},
		"going on in segments": {[]string{"ids", "--scan", "--segments", "2", "--after", "a"},
			statusUsage, "invalid argument: --after = \"a\": "},
		"a snapshot without a state": {[]string{"snapshot", "save", "a", "--seq", "1"}, statusUsage,
			"--string"},
		"a snapshot of two states": {[]string{"snapshot", "save", "a", "--seq", "1", "--string", "s",
			"--json", "-"}, statusUsage, "can't be used together"},
		"a snapshot of no number": {[]string{"snapshot", "save", "a", "--seq", "0", "--string", "s"},
			statusUsage, "invalid argument: --seq = 0: "},
		"a state that is not base64": {[]string{"snapshot", "save", "a", "--seq", "1", "--bytes-base64",
			"%"}, statusUsage, "--bytes-base64"},
		"a state that is no JSON": {[]string{"snapshot", "save", "a", "--seq", "1", "--json", "-"},
			statusUsage, "not a JSON value"},
		"bounds that are no numbers": {[]string{"snapshot", "delete", "a", "--max-seq", "-1"}, statusUsage,
			"--max-seq"},
		"a time that is none": {[]string{"snapshots", "a", "--min-ts", "yesterday"}, statusUsage,
			"yesterday"},
		"repair of nothing":         {[]string{"repair"}, statusUsage, "or --all"},
		"verify of some and of all": {[]string{"verify", "a", "--all"}, statusUsage, "or --all"},
		"a severity that there is not": {[]string{"verify", "--all", "--severity", "serious"}, statusUsage,
			"--severity"},
		"no persistence id at a time": {[]string{"verify", "--all", "--parallel", "0"}, statusUsage,
			"--parallel must be at least 1"},
		"no part of the table at a time": {[]string{"ids", "--scan", "--segments", "0"}, statusUsage,
			"--segments must be at least 1"},
		"a negative read capacity": {[]string{"verify", "--all", "--read-units", "-1"}, statusUsage,
			"ReadUnitsPerSecond"},
		"a fault that there is not": {[]string{"serve", "--memory", "--fault", "nope"}, statusUsage,
			"--fault"},
		"a feature that there is not": {[]string{"serve", "--memory", "--without", "nope"}, statusUsage,
			"--without"},
		"an unknown output": {[]string{"--output", "xml", "highest", "a"}, statusUsage, "--output"},
		"an unknown layout": {[]string{"--layout", "x", "highest", "a"}, statusUsage, "--layout"},
		"a command of today's layout": {[]string{"--layout", "naive", "purge", "a", "--yes"}, statusUsage,
			"does not support --layout naive"},
		"marking in today's layout": {[]string{"delete", "a", "--to", "1", "--mark"}, statusUsage,
			"can't mark events"},
		"confirming in today's layout": {[]string{"confirm", "a", "--seq", "1", "--channel", "c"},
			statusUsage, "has no confirmations"},
		"an export without ids":        {[]string{"export", "file"}, statusUsage, "or --all"},
		"an export of some and of all": {[]string{"export", "a", "file", "--all"}, statusUsage, "or --all"},
		"an import of nothing":         {[]string{"import", "/does/not/exist"}, statusFailed, "no such file"},
		"a migration from nowhere": {[]string{"migrate", "--from-layout", "naive"}, statusUsage,
			"--from-table"},
		"two places": {[]string{"--memory", "--aws", "highest", "a"}, statusUsage,
			"can't be used together"},
		"another number of shards": {[]string{"--sequence-shards", "7", "highest", "a"}, statusUsage,
			"1 sequence shards"},
		"shards that are no number": {[]string{"--sequence-shards", "x", "highest", "a"}, statusUsage,
			"number of sequence shards"},
		"a journal name that is refused": {[]string{"--journal-name", "a-SH", "highest", "a"}, statusUsage,
			"invalid argument: --journal-name = \"a-SH\": "},
		"an endpoint that is no URL": {[]string{"--endpoint", "nowhere", "highest", "a"}, statusUsage,
			"invalid argument: --endpoint = \"nowhere\": "},
		"a configuration that does not exist": {[]string{"--config", "/does/not/exist", "highest", "a"},
			statusUsage, "no such file"},
		"a configuration that is wrong": {[]string{"--config", conf, "highest", "a"}, statusUsage,
			"a } is missing"},
		"no tables to read": {append([]string{"highest", "a"}, noTables...), statusFailed,
			"`dynajournal append` or `dynajournal tables create`"},
		"no tables to describe": {append([]string{"tables", "describe"}, noTables...), statusFailed,
			"tables create"},
		"no tables to update": {append([]string{"tables", "update"}, noTables...), statusFailed,
			"table"},
		"no tables to verify": {append([]string{"verify"}, noTables...), statusFailed, "tables create"},
		"no tables to delete": {append([]string{"tables", "delete", "--yes"}, noTables...),
			statusFailed, "neither the journal table nor the snapshot table exists"},
		"serving another's endpoint": {[]string{"serve", "--endpoint", "http://localhost:1"}, statusUsage,
			"needs an embedded engine"},
		"the demo at another's endpoint": {[]string{"demo", "--endpoint", "http://localhost:1"}, statusUsage,
			"needs an embedded engine"},
		"an address that can't be had": {[]string{"serve", "--memory", "--addr", "192.0.2.1:0"},
			statusFailed, "listen on"},
		"an address that can't be": {[]string{"serve", "--memory", "--addr", "127.0.0.1:99999"},
			statusUsage, "the port is not a number"},
		"a folder that is none": {[]string{"--data", conf, "highest", "a"}, statusFailed,
			"application.conf"},
	} {
		t.Run(name, func(t *testing.T) {
			o := invoke(t.Context(), "", c.args...)
			if o.status != c.status || !strings.Contains(o.err, c.want) || o.out != "" {
				t.Errorf("status %d, want %d; %q, want %q in it; stdout %q", o.status, c.status, o.err, c.want, o.out)
			}
			if !strings.HasPrefix(o.err, "dynajournal: ") || strings.Count(o.err, "\n") != 1 ||
				!strings.HasSuffix(o.err, "\n") {
				t.Errorf("not one line that begins with the command: %q", o.err)
			}
		})
	}
}

func TestLocation_AllowKey(t *testing.T) {
	clean(t)
	conf := fileOf(t, `akka.persistence.journal.plugin = "app-journal"
app-journal = ${dynamodb-journal}
app-journal { journal-table = "orders", stream-endpoint = "http://localhost:8000", other = 1 }`)
	for _, command := range []string{"config", "tables describe"} {
		o := invoke(t.Context(), "", append(strings.Fields(command), "--config", conf, "--allow-key", "app-journal.other")...)
		if o.status != statusUsage || !strings.Contains(o.err, "--allow-key 'app-journal.stream-endpoint'") || strings.Count(o.err, "\n") != 1 {
			t.Errorf("%+v", o)
		}
	}
	must(t, "append", "a", "--string", "x", "--config", conf, "--allow-key", "app-journal.other", "--allow-key", "app-journal.stream-endpoint")
	if got := must(t, "--journal-table", "orders", "highest", "a"); got[0]["highest"] != 1.0 {
		t.Errorf("%v", got)
	}
}

// Remains of a refused write are shown. They are not a failure, unless --severity left-over is set.
func TestVerifyBySeverity(t *testing.T) {
	clean(t)
	appendMany(t, "leftover", 1)
	must(t, "append", "leftover", "--string", "x", "--string", "y", "--string", "z", "--atomic")
	loseItem(t, "journal-P-leftover-0", "4") // as if it had not been put
	must(t, "append", "leftover", "--string", "x")
	appendMany(t, "loss", 5)
	loseItem(t, "journal-P-loss-0", "3")
	for args, want := range map[string]int{
		"leftover":                      statusDone,
		"leftover --severity damage":    statusDone,
		"leftover --severity left-over": statusFailed,
		"loss":                          statusFailed,
		"loss --severity data-loss":     statusFailed,
		"loss --severity left-over":     statusFailed,
		"--all":                         statusFailed,
		"leftover --severity data-loss": statusDone,
	} {
		if o := invoke(t.Context(), "", append([]string{"verify"}, strings.Fields(args)...)...); o.status != want {
			t.Errorf("verify %s ends with %d: %s%s", args, o.status, o.out, o.err)
		}
	}
	o := invoke(t.Context(), "", "verify", "leftover", "--output", "text")
	if o.err != "checked 1 persistence ids, found 1 left-over\n" || !strings.Contains(o.out, "(left-over, repairable by flag)") {
		t.Errorf("%q, %q", o.out, o.err)
	}
	o = invoke(t.Context(), "", "repair", "leftover")
	if o.status != statusDone || o.err != "checked 1 persistence ids, repaired 0 findings, left 1 left-over\n" {
		t.Errorf("repair: %+v", o)
	}
}

func TestFail_EndpointRefuses(t *testing.T) {
	clean(t)
	o := invoke(t.Context(), "", "--endpoint", "http://127.0.0.1:1", "highest", "a")
	if o.status != statusFailed || !strings.HasPrefix(o.err, "dynajournal: highest: ") ||
		strings.Count(o.err, "\n") != 1 {
		t.Errorf("%+v", o)
	}
}

func TestFail_FolderInUse(t *testing.T) {
	clean(t)
	w := location{Layout: layoutCurrent}
	p, err := w.open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.close(); err != nil {
			t.Error(err)
		}
	}()
	if o := invoke(t.Context(), "", "append", "a", "--string", "x"); o.status != statusFailed ||
		!strings.Contains(o.err, "in use") {
		t.Errorf("%+v", o)
	}
}

func TestFail_Interrupt(t *testing.T) {
	clean(t)
	must(t, "append", "a", "--string", "x")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range [][]string{{"append", "a", "--string", "y"}, {"events", "a"}, {"delete", "a", "--to", "1"}} {
		o := invoke(ctx, "", args...)
		if o.status != statusFailed || !strings.Contains(o.err, "interrupted") || strings.Count(o.err, "\n") != 1 ||
			o.out != "" {
			t.Errorf("%q: %+v", args, o)
		}
	}
	if got := must(t, "highest", "a")[0]; got["highest"] != 1.0 || got["lowest"] != 0.0 {
		t.Errorf("an interrupted command has changed something: %v", got)
	}
}

func TestFail_Output(t *testing.T) {
	clean(t)
	var errs strings.Builder
	if status := run(t.Context(), []string{"version"},
		streams{strings.NewReader(""), failing{}, &errs}); status != statusFailed {
		t.Errorf("status %d, %s", status, errs.String())
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("the disk is full") }

func TestMessagesStayOnOneLine(t *testing.T) {
	var w strings.Builder
	fail(&w, "append", errors.Join(errors.New("a\x1b[31m"), errors.New("b\r\nc")))
	if got, want := w.String(), "dynajournal: append: a [31m; b; c\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestHelp_ExitStatuses(t *testing.T) {
	clean(t)
	if o := invoke(t.Context(), "", "--help"); !strings.Contains(o.out,
		"Exit status: 0 success; 1 failure, or something was found; 2 wrong usage") {
		t.Error(o.out)
	}
}

func TestDemo(t *testing.T) {
	clean(t)
	for _, args := range [][]string{{"demo"}, {"demo", "--data", t.TempDir()}} {
		if o := invoke(t.Context(), "", args...); o.status != statusDone ||
			!strings.HasSuffix(o.out, "\n\ndemo: ok\n") || strings.Contains(o.out, "\x1b") {
			t.Errorf("%q: %+v", args, o)
		}
	}
}

func TestTheDemoEndsWithCommandsThatWork(t *testing.T) {
	clean(t)
	t.Setenv("DYNAJOURNAL_DATA", t.TempDir())
	for _, data := range []string{"", t.TempDir()} {
		if data != "" {
			if o := invoke(t.Context(), "", "demo", "--data", data); o.status != statusDone {
				t.Fatalf("%+v", o)
			}
		}
		for _, command := range afterDemo(&location{Data: data}) {
			if strings.Contains(command, " demo ") {
				continue // TestDemo does that
			}
			words := strings.Fields(strings.ReplaceAll(command, "'", ""))
			if o := invoke(t.Context(), "", words[1:]...); o.status != statusDone || o.out+o.err == "" {
				t.Errorf("%s: %+v", command, o)
			}
		}
	}
}
