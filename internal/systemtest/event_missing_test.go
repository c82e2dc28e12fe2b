package systemtest

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
)

// loser is a native journal of which items get lost.
type loser struct {
	*testing.T

	config  dynajournal.Config
	journal *dynajournal.Journal
	client  *dynamodb.Client
}

func newLoser(t *testing.T) *loser {
	t.Helper()
	config := dynajournal.Config{AWS: openEngine(t).AWSConfig()}
	createTables(t, config, dynajournal.TableOptions{})
	return &loser{t, config, openJournal(t, config), dynamodb.NewFromConfig(config.AWS)}
}

// lose removes the item of a number of the first partition, and returns it.
func (l *loser) lose(seq int) map[string]types.AttributeValue {
	l.Helper()
	return removeItem(l.T, l.client, "journal-P-a-0", seq)
}

// calls are all that reads events of id a, each with the option that continues past missing ones or
// without it.
func (l *loser) calls(skip bool) map[string]func() error {
	window := dynajournal.Range{SkipMissing: skip}
	return map[string]func() error{
		"Events": func() error { return readError(l.Context(), l.journal, "a", window) },
		"Records": func() error {
			for _, err := range l.journal.Records(l.Context(), "a", dynajournal.RecordsOptions{SkipMissing: skip}) {
				if err != nil {
					return err
				}
			}
			return nil
		},
		"Recover": func() error {
			_, err := l.journal.Recover(l.Context(), "a", dynajournal.RecoverOptions{SkipMissing: skip}, noHandler)
			return err
		},
		"Recover without a handler": func() error {
			_, err := l.journal.Recover(l.Context(), "a", dynajournal.RecoverOptions{SkipMissing: skip}, nil)
			return err
		},
	}
}

// wantMissing checks that whoever reads is told of missing numbers, and that nothing is sealed.
func (l *loser) wantMissing(first, last, next int64) {
	l.Helper()
	for name, call := range l.calls(false) {
		err := call()
		wantError(l.T, name, err, dynajournal.ErrEventMissing)
		missing, ok := errors.AsType[*dynajournal.EventMissingError](err)
		if !ok || *missing != (dynajournal.EventMissingError{PersistenceID: "a", First: first, Last: last, Next: next}) {
			l.Errorf("%s: %+v, want %d to %d missing before %d", name, missing, first, last, next)
		}
	}
	for seq := first; seq <= last; seq++ {
		if item := l.lose(int(seq)); item != nil {
			l.Errorf("%v is stored at %d", item, seq)
		}
	}
}

// Thirty events of three writers: one item is lost, whichever it is. It is restored, or its number
// is sealed.
func TestMissingEventIsAnError(t *testing.T) {
	t.Parallel()
	for _, seq := range []int{1, 2, 10, 11, 15, 29} {
		l := newLoser(t)
		for range 3 {
			written(t, l.journal, "a", 10)
		}
		item := l.lose(seq)
		l.wantMissing(int64(seq), int64(seq), int64(seq)+1)
		var before []int64
		for e, err := range l.journal.Events(t.Context(), "a", dynajournal.Range{}) {
			if err == nil {
				before = append(before, e.SequenceNumber)
			}
		}
		if len(before) != seq-1 {
			t.Errorf("%v are read before %d", before, seq)
		}
		found := verified(t, l.journal, "a")
		if seq == 1 && len(found) == 2 && found[1].Kind == dynajournal.FindingNotInIDsIndex {
			found = found[:1] // the first event lists the id
		}
		if len(found) != 1 || found[0].Kind != dynajournal.FindingHole || found[0].Severity != dynajournal.SeverityDataLoss ||
			found[0].Option != dynajournal.OptionSealMissing || !strings.Contains(found[0].Detail, `par="journal-P-a-0" num=`) {
			t.Errorf("found %+v", found)
		}

		putAll(t, l.client, []map[string]types.AttributeValue{item})
		if got := numbersText(numbersOf(readEvents(t, l.journal, "a", dynajournal.Range{}))); got != "1-30" {
			t.Errorf("restored, it has %s", got)
		}
		l.lose(seq)
		for f, err := range l.journal.Repair(t.Context(), "a", dynajournal.VerifyOptions{SealMissing: true}) {
			if err != nil || !f.Repaired {
				t.Errorf("the repair: %+v, %v", f, err)
			}
		}
		if got := numbersOf(readEvents(t, l.journal, "a", dynajournal.Range{})); len(got) != 29 || slices.Contains(got, int64(seq)) {
			t.Errorf("repaired, it has %v", got)
		}
		if found := verified(t, l.journal, "a"); len(found) != 0 {
			t.Errorf("repaired, %+v is found", found)
		}
	}
}

func verified(t *testing.T, j *dynajournal.Journal, pid string) []dynajournal.Finding {
	t.Helper()
	var all []dynajournal.Finding
	for f, err := range j.Verify(t.Context(), pid, dynajournal.VerifyOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, f)
	}
	return all
}

// A recovery that is told to continue seals what is missing.
func TestMissingEventIsPassedIfTheCallerSaysSo(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	l := newLoser(t)
	l.config.Logger = slog.New(slog.NewTextHandler(&log, nil))
	l.journal = openJournal(t, l.config)
	written(t, l.journal, "a", 9)
	l.lose(4)
	for name, call := range l.calls(true) {
		if err := call(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := numbersText(numbersOf(readEvents(t, l.journal, "a", dynajournal.Range{}))); got != "1-3,5-9" {
		t.Errorf("it has %s", got)
	}
	if got := strings.Count(log.String(), "sealed numbers at which events are missing"); got != 1 {
		t.Errorf("the log has\n%s", log.String())
	}
}

// An atomic write that another write follows was whole. One at the end may be on its way, and the
// next recovery ends it.
func TestMissingMemberIsAnErrorBeforeALaterWrite(t *testing.T) {
	t.Parallel()
	for _, member := range []int{3, 5, 7} {
		l := newLoser(t)
		appendStrings(t, written(t, l.journal, "a", 2), 5, true)
		l.lose(member)
		if found := verified(t, l.journal, "a"); slices.ContainsFunc(found, func(f dynajournal.Finding) bool { return f.Severity != dynajournal.SeverityLeftOver }) {
			t.Errorf("%d of 3 to 7 is missing: found %+v", member, found)
		}
		if got := numbersText(numbersOf(readEvents(t, l.journal, "a", dynajournal.Range{}))); got != "1-2" {
			t.Errorf("%d of 3 to 7 is missing: it has %s", member, got)
		}
		written(t, l.journal, "a", 1)
	}
	for _, member := range []int{3, 5, 7} {
		l := newLoser(t)
		w := written(t, l.journal, "a", 2)
		appendStrings(t, w, 5, true)
		appendStrings(t, w, 1, false)
		l.lose(member)
		l.wantMissing(int64(member), int64(member), 8)
	}
}

// What follows a missing number is a seal, which may have been put before the seals below it. Only
// an event that follows shows what was lost, also one of the next partition.
func TestMissingEventBeforeSeals(t *testing.T) {
	t.Parallel()
	for _, seals := range []int{2, 3, 95, 96, 97, 200} {
		l := newLoser(t)
		w := written(t, l.journal, "a", 3)
		appendStrings(t, w, seals, true)
		l.lose(4)
		if _, err := l.journal.Recover(t.Context(), "a", dynajournal.RecoverOptions{SkipMissing: true}, nil); err != nil {
			t.Fatal(err)
		}
		for _, err := range l.journal.Repair(t.Context(), "a", dynajournal.VerifyOptions{
			RemoveIncomplete: true, Archive: func(dynajournal.RemovedItem) error { return nil },
		}) {
			if err != nil {
				t.Fatal(err)
			}
		}
		l.lose(4)
		if _, err := l.journal.Recover(t.Context(), "a", dynajournal.RecoverOptions{}, nil); err != nil {
			t.Errorf("%d seals at the end: %v", seals, err)
		}
		written(t, l.journal, "a", 1)
		l.lose(4)
		l.wantMissing(4, 4, int64(4+seals))
	}
}

// The persistence id is erased while it is read. What has vanished was not lost.
func TestEventThatIsErasedIsNotMissing(t *testing.T) {
	t.Parallel()
	engine := openEngine(t)
	config := dynajournal.Config{AWS: engine.AWSConfig()}
	createTables(t, config, dynajournal.TableOptions{})
	client, queries := dynamodb.NewFromConfig(config.AWS), 0
	config.AWS.HTTPClient = through(config.AWS.HTTPClient, func(r *http.Request, send sender) (*http.Response, error) {
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".Query") {
			if queries++; queries == 3 { // the partition, the missing number, the event after it
				removeItem(t, client, "journal-P-a-0", 3)
			}
		}
		return send(r)
	})
	j := openJournal(t, config)
	written(t, j, "a", 3)
	removeItem(t, client, "journal-P-a-0", 2)
	queries = 0
	if err := readError(t.Context(), j, "a", dynajournal.Range{}); err != nil || queries < 3 {
		t.Errorf("after %d queries: %v", queries, err)
	}
}

// A purge is a way out: it needs none of the events.
func TestMissingEventIsPurged(t *testing.T) {
	t.Parallel()
	l := newLoser(t)
	w := written(t, l.journal, "a", 5)
	l.lose(2)
	if _, err := w.Purge(t.Context(), dynajournal.PurgeOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := readError(t.Context(), l.journal, "a", dynajournal.Range{}); err != nil {
		t.Error(err)
	}
}
