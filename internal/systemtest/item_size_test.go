package systemtest

import (
	"bytes"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/testsize"
)

// The plug-in estimates an item by its characters, so it stores items that DynamoDB counts as more
// than 400,000 bytes. Items up to DynamoDB's own limit must be read, written and copied.
func TestItemsUpToTheLimitOfTheService(t *testing.T) {
	t.Parallel()
	testsize.NoRace(t, "it does one thing after the other")
	const limit = 409_600
	for name, pid := range map[string]string{"letters": "a", "characters of three bytes": strings.Repeat("漢", 600)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := dynajournal.Config{AWS: openEngine(t).AWSConfig()}
			createTables(t, config, kinds["shared"])
			j, client := openJournal(t, config), dynamodb.NewFromConfig(config.AWS)
			fits := largestEvent(pid, 1, false) + limit - dynajournal.DefaultMaxItemSize
			put := func(size int) error { // like the plug-in
				p := &planted{model: model{items: map[int64]modelItem{}}}
				p.plantEvent(1, modelBatch{}, strings.Repeat("w", 36))
				item := p.attributes(pid, dynajournal.DefaultSequenceShards)[0]
				item["event"] = &types.AttributeValueMemberB{Value: make([]byte, size)}
				item["ev_ser_id"] = &types.AttributeValueMemberN{Value: "4"}
				_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: new(dynajournal.DefaultJournalTable), Item: item})
				return err
			}
			if put(fits+1) == nil || put(fits) != nil {
				t.Errorf("%d bytes are not the most that fit", fits)
			}
			w := recoverWriter(t, j, pid, 0)
			_, err := w.Append(t.Context(), bytes.Repeat([]byte{1}, fits+1))
			wantError(t, "Append of more than fits", err, dynajournal.ErrRejected)
			if _, err := w.Append(t.Context(), bytes.Repeat([]byte{1}, fits)); err != nil {
				t.Errorf("Append of what fits: %v", err)
			}
			to := openFresh(t, kinds["shared"])
			if _, err := to.PutRecords(t.Context(), pid, each(records(t, j, pid, 0)), dynajournal.PutRecordsOptions{}); err != nil {
				t.Errorf("PutRecords: %v", err)
			}
			for _, j := range []*dynajournal.Journal{j, to} {
				for _, e := range readEvents(t, j, pid, dynajournal.Range{}) {
					if len(e.Serialized().Bytes) != fits {
						t.Errorf("event %d has %d bytes, want %d", e.SequenceNumber, len(e.Serialized().Bytes), fits)
					}
				}
				if got := readBounds(t, j, pid).Highest; got != 2 {
					t.Errorf("the highest is %d, want 2", got)
				}
			}
		})
	}
}
