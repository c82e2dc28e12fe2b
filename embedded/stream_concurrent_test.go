package embedded_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/embedded"
)

// TestStream_ReadersMissNothingWhileWritersCommit reads a stream from iterator to iterator while
// many goroutines write to a disk, where commits do not finish in the order of their sequence
// numbers, and while shards are split.
func TestStream_ReadersMissNothingWhileWritersCommit(t *testing.T) {
	const writers, writes = 16, 30
	engine, err := embedded.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer closeEngine(t, engine)
	client := clientOf(engine)
	arn := createStreamTable(t, client, "orders", types.StreamViewTypeKeysOnly)
	var all sync.WaitGroup
	defer all.Wait() // before the engine closes
	var done atomic.Int64
	for w := range writers {
		all.Go(func() {
			defer done.Add(1)
			for i := range writes {
				_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("orders"), Item: attributes{
					"pk": text(fmt.Sprint(w)), "sk": number(fmt.Sprint(i)),
				}})
				if err != nil {
					t.Error(err)
					return
				}
				if w == 0 && i%20 == 10 {
					if err := engine.SplitShards("orders"); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	reader, next := readerOf(streamsOf(engine), arn), map[string]int{}
	read := func() {
		for _, r := range reader.mustNext(t) {
			key := sdkItem(r.Dynamodb.Keys)
			w, i := key["pk"].(*types.AttributeValueMemberS).Value, key["sk"].(*types.AttributeValueMemberN).Value
			if i != fmt.Sprint(next[w]) {
				t.Fatalf("writer %s: got record %s, want %d", w, i, next[w])
			}
			next[w]++
		}
	}
	for done.Load() < writers {
		read()
	}
	all.Wait()
	read()
	for w := range writers {
		if next[fmt.Sprint(w)] != writes {
			t.Errorf("writer %d: %d records of %d", w, next[fmt.Sprint(w)], writes)
		}
	}
}
