package projection_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynajournal/dynajournal/projection"
)

// The claim of a process that had no deadline stands still. Invocations that are shorter than
// ClaimTimeout remember since when, and take it over together.
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
		invocations := 1
		for b.invoke(g, b.events(0), 10*time.Second) != "" && invocations < 10 {
			want(t, "a", all.of("a"))
			invocations++
		}
		want(t, "a", all.of("a"), "1 x")
		if invocations != 4 {
			t.Errorf("%d invocations have waited for 25 seconds, 8 seconds each", invocations)
		}
	})
}
