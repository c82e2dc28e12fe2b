package main

import (
	"reflect"
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal/internal/testsize"
	"github.com/dynajournal/dynajournal/legacy"
)

func TestCommandsOnTheLegacyLayouts(t *testing.T) {
	testsize.NoRace(t, "it does one thing after the other")
	const event = "confirmations deleted manifest payload_base64 persistence_id sequence_nr serializer_id serializer_manifest writer_uuid"
	for _, layout := range legacy.Layouts() {
		t.Run(layout.String(), func(t *testing.T) {
			clean(t)
			on := func(args string) []map[string]any {
				t.Helper()
				return must(t, append(strings.Fields(args), "--layout", layout.String(), "--journal-table", "old",
					"--sequence-shards", "5")...)
			}
			if got := on("tables create"); len(got) != 1 || got[0]["table"] != "old" ||
				got[0]["status"] != "ACTIVE" || got[0]["kind"] != layout.String() {
				t.Errorf("tables create: %v", got)
			}
			if got := numbers(t, on("append a --bytes-base64 AQ== --bytes-base64 Ag== --bytes-base64 Aw=="),
				"sequence_nr"); !reflect.DeepEqual(got, []int64{1, 2, 3}) {
				t.Errorf("append: %v", got)
			}
			marks := layout != legacy.Naive
			if marks {
				if got := on("confirm a --seq 3 --channel c")[0]; got["sequence_nr"] != 3.0 ||
					!reflect.DeepEqual(got["confirmations"], []any{"c"}) {
					t.Errorf("confirm: %v", got)
				}
				if got := on("delete a --to 1 --mark")[0]; got["removed"] != 1.0 || got["highest"] != 3.0 {
					t.Errorf("delete --mark: %v", got)
				}
			}
			got := on("events a")
			if len(got) != 3 || strings.ReplaceAll(keys(got[0]), "payload payload_base64", "payload_base64") != event {
				t.Fatalf("events: %v", got)
			}
			if got[0]["deleted"] != marks || marks && !reflect.DeepEqual(got[2]["confirmations"], []any{"c"}) ||
				got[1]["payload_base64"] != "Ag==" {
				t.Errorf("events: %v", got)
			}
			if got := on("delete a --to 2")[0]; got["highest"] != 3.0 {
				t.Errorf("delete: %v", got)
			}
			if got := on("list a")[0]; !reflect.DeepEqual(got["sequence_nrs"], []any{3.0}) {
				t.Errorf("list: %v", got)
			}
			if got := on("highest a")[0]; got["highest"] != 3.0 {
				t.Errorf("highest: %v", got)
			}
			if got := on("ids --limit 5"); len(got) != 1 || got[0]["persistence_id"] != "a" {
				t.Errorf("ids: %v", got)
			}
			if got := on("tables delete --yes"); got[0]["status"] != statusDeleted {
				t.Errorf("tables delete: %v", got)
			}
		})
	}
}

func TestCommandsOnTheLayoutPay(t *testing.T) {
	clean(t)
	must(t, "--layout", "pay", "append", "a", "--string", "x")
	if got := must(t, "events", "a"); len(got) != 1 || got[0]["payload"] != "x" {
		t.Errorf("%v", got)
	}
	for _, item := range scanned(t, "pekko-persistence") {
		if _, ok := item["event"]; ok {
			t.Errorf("%v is in today's form", item)
		}
	}
}
