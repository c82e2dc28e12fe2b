package projection_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynajournal/dynajournal/projection"
)

// The claim of a process without a deadline does not change. Processes that live for less than
// ClaimTimeout find it one after the other. The row stores since when it has not changed, and the
// last of them takes it over.
func TestInvocationsWatchAClaimTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := streaming(t)
		b.write("a", "x")
		row := rowKey("group/all", "a")
		row["claim"] = textOf("dead")
		_, err := b.table.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(projectionsTable), Item: row})
		if err != nil {
			t.Fatal(err)
		}
		all := &recorder{}
		config := onLambda()
		config.ClaimTimeout, config.RetryLongest = 25*time.Second, time.Second
		g := group(t, b.journal, config, projection.AtLeastOnce("all", all))
		if failed := b.invoke(g, b.events(0), 10*time.Second); failed != "" {
			t.Errorf("under the claim of another process: lowest failure %q", failed)
		}
		calls := 0
		for ; len(all.of("a")) == 0 && calls < 10; calls++ {
			time.Sleep(10 * time.Second)
			maintain(t, group(t, b.Journal(), config, projection.AtLeastOnce("all", all)))
		}
		want(t, "a", all.of("a"), "1 x")
		if calls != 4 {
			t.Errorf("%d calls, each 10 seconds after the other, have waited for 25 seconds", calls)
		}
	})
}
