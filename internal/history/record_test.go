package history_test

import (
	"testing"

	"github.com/dynajournal/dynajournal/internal/history"
)

// An archive leaves out the metadata of a record without any. A time, metadata or tags count as
// metadata.
func TestRecordHasMetadata(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		record history.Record
		want   bool
	}{
		"nothing":         {history.Record{SequenceNumber: 1, Bytes: []byte("x")}, false},
		"a time":          {history.Record{Time: 1}, true},
		"metadata":        {history.Record{Metadata: map[string]string{"tenant": "a"}}, true},
		"tags":            {history.Record{Tags: []string{"red"}}, true},
		"empty map, tags": {history.Record{Metadata: map[string]string{}, Tags: []string{}}, false},
	} {
		if got := test.record.HasMetadata(); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}
