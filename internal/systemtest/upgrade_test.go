package systemtest

import (
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"google.golang.org/protobuf/proto"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/persistentpb"
)

// TestEventsOfAkkaAreUpgradedInPlace upgrades events in a table that also has marks, attributes of
// other programs, and events that cannot be upgraded.
func TestEventsOfAkkaAreUpgradedInPlace(t *testing.T) {
	t.Parallel()
	d := openDamaged(t, dynajournal.TableOptions{SharedWithJVM: true}, true)
	d.write(98, false)
	d.write(5, true)
	d.deleteTo(2)
	message := &persistentpb.PersistentMessage{
		Payload:       &persistentpb.PersistentPayload{SerializerId: new(int32(20)), Payload: []byte("x")},
		SequenceNr:    new(int64(104)),
		PersistenceId: new("a"),
		WriterUuid:    new("w"),
		Timestamp:     new(int64(7)),
	}
	timed, err := proto.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	d.put("journal-P-a-1", 4, map[string]any{"pay": timed})
	message.SequenceNr, message.Timestamp = new(int64(105)), nil
	plain, err := proto.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	d.put("journal-P-a-1", 5, map[string]any{"pay": plain, "tag": "of somebody else"})
	was := records(t, d.Journal, "a", 0)
	d.put("journal-P-a-1", 6, map[string]any{"pay": []byte("no message")})
	before := items(t, d.table)
	left := map[int64]bool{}
	result, err := d.UpgradeEvents(t.Context(), "a", dynajournal.UpgradeOptions{Left: func(pid string, seq int64, reason error) {
		if pid != "a" || reason == nil {
			t.Errorf("%q, %d is left because of %v", pid, seq, reason)
		}
		left[seq] = true
	}})
	if err != nil || result.Upgraded != 102 || result.Left != 2 || !left[104] || !left[106] {
		t.Errorf("%+v, %v, left %v; want 102 upgraded, 104 and 106 left", result, err, left)
	}
	after := items(t, d.table)
	if len(after) != len(before) {
		t.Errorf("%d items, there were %d", len(after), len(before))
	}
	for key, item := range before {
		switch _, enveloped := item["pay"]; {
		case !enveloped, item["num"] == "N4", item["num"] == "N6":
			if item["par"] != "journal-P-a-0" && !reflect.DeepEqual(after[key], item) {
				t.Errorf("%q is %v, was %v", key, after[key], item)
			}
		case after[key]["pay"] != nil || after[key]["event"] == nil || after[key]["idx"] != item["idx"] || after[key]["tag"] != item["tag"]:
			t.Errorf("%q is %v, was %v", key, after[key], item)
		}
	}
	d.remove("journal-P-a-1", 6)
	if got := records(t, d.Journal, "a", 0); !reflect.DeepEqual(got, was) {
		t.Errorf("the history is %s, was %s", recordsText(got), recordsText(was))
	}
	again, err := d.UpgradeEvents(t.Context(), "a", dynajournal.UpgradeOptions{})
	if err != nil || again.Upgraded != 0 || again.Left != 1 || again.Cost.WriteUnits != 0 {
		t.Errorf("again: %+v, %v", again, err)
	}
}

// An event that is deleted between the read and the write of an upgrade stays deleted.
func TestUpgradeEvents_DeletedMeanwhile(t *testing.T) {
	t.Parallel()
	d := openDamaged(t, dynajournal.TableOptions{SharedWithJVM: true}, true)
	d.write(3, false)
	config := d.config
	hooked := &beforePut{inner: config.AWS.HTTPClient, do: func() { d.deleteTo(2) }}
	config.AWS.HTTPClient = hooked
	j := openJournal(t, config)
	result, err := j.UpgradeEvents(t.Context(), "a", dynajournal.UpgradeOptions{})
	if err != nil || result.Upgraded != 1 {
		t.Errorf("%+v, %v, want only the event that is not deleted upgraded", result, err)
	}
	if l, err := d.List(t.Context(), "a"); err != nil || !reflect.DeepEqual(l.Tombstones, []int64{1, 2}) || !reflect.DeepEqual(l.SequenceNumbers, []int64{3}) {
		t.Errorf("%+v, %v", l, err)
	}
}

// beforePut is an HTTP client that calls do before the first PutItem.
type beforePut struct {
	inner aws.HTTPClient
	do    func()
	once  sync.Once
}

// Do sends a request.
func (b *beforePut) Do(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".PutItem") {
		b.once.Do(b.do)
	}
	return b.inner.Do(r)
}
