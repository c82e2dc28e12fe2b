package wire

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

func TestItems_ListedOnlyIfPageIsComplete(t *testing.T) {
	t.Parallel()
	var taken copies
	items := NewItems(&taken)
	for _, test := range []struct {
		body          string
		plain, listed bool
		taken         int
	}{
		{`{"Items":[{"a":{"S":"x"}}],"Count":1}`, true, true, 1},
		{`{"Count":0}`, true, false, 0},
		{`{"Items":[]}`, true, true, 0},
		{`{"Items":[{"a":{"S":"x"}}],"Other":1}`, false, false, 1},
		{`{"Items":[{"a":{"S":"x"}}],"Items":[]}`, false, false, 1},
	} {
		var out dynamodb.QueryOutput
		items.Start()
		plain := Decode([]byte(test.body), &out, items)
		if plain != test.plain || items.Listed() != test.listed || len(taken.items) != test.taken || out.Items != nil {
			t.Errorf("%s: plain %t, listed %t, %d items taken, %d items in the output",
				test.body, plain, items.Listed(), len(taken.items), len(out.Items))
		}
	}
}
