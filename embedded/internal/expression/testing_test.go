package expression_test

import (
	"errors"
	"testing"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
	"github.com/dynajournal/dynajournal/embedded/internal/expression"
)

// item decodes an item in DynamoDB's JSON.
func item(t *testing.T, json string) attribute.Item {
	t.Helper()
	i, err := attribute.DecodeItem([]byte(json))
	if err != nil {
		t.Fatalf("%s: %v", json, err)
	}
	return i
}

func parameters(t *testing.T, names map[string]string, values attribute.Item) *expression.Parameters {
	t.Helper()
	p, err := expression.NewParameters(names, values)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func wantMessage(t *testing.T, what string, err error, want string) {
	t.Helper()
	var invalid *attribute.ValidationError
	if !errors.As(err, &invalid) || invalid.Message != want {
		t.Errorf("%s:\n got %v\nwant %s", what, err, want)
	}
}

// testNames and testValues are the names and values for the tests' expressions.
var testNames = map[string]string{"#a": "a", "#dotted": "x.y", "#s": "status"}

const testValues = `{
	":s":{"S":"abc"}, ":b":{"B":"YWJj"}, ":n":{"N":"5"}, ":ten":{"N":"10"}, ":one":{"N":"1"}, ":l":{"L":[{"S":"abc"}]}, ":m":{"M":{}},
	":t":{"BOOL":true}, ":null":{"NULL":true}, ":ss":{"SS":["abc","d"]}, ":ns":{"NS":["5"]}, ":a":{"S":"a"}, ":z":{"S":"z"},
	":S":{"S":"S"}, ":N":{"S":"N"}, ":bad":{"S":"foo"}, ":bc":{"S":"bc"}, ":empty":{"S":""}}`
