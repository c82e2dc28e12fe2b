package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// described responds to a DescribeTable.
func described(status, indexStatus string) step {
	return ok(fmt.Sprintf(`{"Table":{"TableName":"events","TableStatus":%q,"GlobalSecondaryIndexes":[{"IndexName":"ids","IndexStatus":%q}]}}`,
		status, indexStatus))
}

// create creates a table.
func create(ctx context.Context, c *dynamo.Client) (bool, error) {
	made, _, err := c.CreateTable(ctx, &dynamodb.CreateTableInput{TableName: aws.String(table)})
	return made, err
}

// update adds an index to a table.
func update(ctx context.Context, c *dynamo.Client) (bool, error) {
	hasIDs := func(d *types.TableDescription) bool {
		return len(d.GlobalSecondaryIndexes) == 1 && *d.GlobalSecondaryIndexes[0].IndexName == "ids"
	}
	changed, _, err := c.UpdateTable(ctx, &dynamodb.UpdateTableInput{TableName: aws.String(table)}, hasIDs)
	return changed, err
}

func TestCreateWaitsUntilTableAndIndexesAreActive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(ok(`{}`), refuse(400, "ResourceNotFoundException"), described("CREATING", "CREATING"), described("ACTIVE", "CREATING"), described("ACTIVE", "ACTIVE"))
		made, err := create(t.Context(), client(t, s))
		if err != nil || !made || len(s.attempts()) != 5 {
			t.Errorf("made %v after %d requests: %v", made, len(s.attempts()), err)
		}
	})
}

func TestCreateOfATableThatExistsReturnsFalse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(refuse(400, "ResourceInUseException"), described("ACTIVE", "ACTIVE"))
		made, err := create(t.Context(), client(t, s))
		if err != nil || made || len(s.attempts()) != 2 {
			t.Errorf("made %v after %d requests: %v", made, len(s.attempts()), err)
		}
	})
}

func TestWaitForATableEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		s := newScript(ok(`{}`), described("CREATING", "CREATING"))
		_, err := create(ctx, client(t, s))
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if n := len(s.attempts()); n < 3600 || n > 3700 {
			t.Errorf("it asked %d times in an hour, want about once a second", n)
		}
	})
}

func TestUpdateWaitsUntilTableAndIndexesAreActive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(ok(`{}`), described("UPDATING", "CREATING"), described("ACTIVE", "CREATING"), described("ACTIVE", "ACTIVE"))
		changed, err := update(t.Context(), client(t, s))
		if err != nil || !changed || len(s.attempts()) != 4 {
			t.Errorf("%d requests, error %v", len(s.attempts()), err)
		}
	})
}

func TestDeleteWaitsUntilTheTableIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(ok(`{}`), described("DELETING", "DELETING"), refuse(400, "ResourceNotFoundException"))
		if err := client(t, s).DeleteTable(t.Context(), table); err != nil || len(s.attempts()) != 3 {
			t.Errorf("%d requests, error %v", len(s.attempts()), err)
		}
	})
}

func TestDeleteOfATableThatDoesNotExistReturnsErrTableNotFound(t *testing.T) {
	err := client(t, newScript(refuse(400, "ResourceNotFoundException"))).DeleteTable(t.Context(), table)
	if !errors.Is(err, dynamo.ErrTableNotFound) {
		t.Error(err)
	}
}

func TestDescribeReturnsTheTable(t *testing.T) {
	d, err := client(t, newScript(described("ACTIVE", "ACTIVE"))).DescribeTable(t.Context(), table)
	if err != nil || aws.ToString(d.TableName) != table || len(d.GlobalSecondaryIndexes) != 1 {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestTTLReturnsTheAttributeThatIsEnabledOrBeingEnabled(t *testing.T) {
	for status, want := range map[string]string{"ENABLED": "expires", "ENABLING": "expires", "DISABLING": "", "DISABLED": ""} {
		s := newScript(ok(fmt.Sprintf(`{"TimeToLiveDescription":{"TimeToLiveStatus":%q,"AttributeName":"expires"}}`, status)))
		if got, err := client(t, s).TTL(t.Context(), table); err != nil || got != want {
			t.Errorf("%s: %q, %v", status, got, err)
		}
	}
	if got, err := client(t, newScript(ok(`{}`))).TTL(t.Context(), table); err != nil || got != "" {
		t.Errorf("no description: %q, %v", got, err)
	}
}

func TestEnableTTLNamesTheAttribute(t *testing.T) {
	s := newScript(ok(`{}`))
	if enabled, err := client(t, s).EnableTTL(t.Context(), table, "expires"); err != nil || !enabled {
		t.Fatal(enabled, err)
	}
	want := map[string]any{"AttributeName": "expires", "Enabled": true}
	if got := s.attempts()[1].body["TimeToLiveSpecification"]; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("sent %v", got)
	}
}

func TestPageHasTheStartKeyOfTheNext(t *testing.T) {
	const one = `{"Items":[{"num":{"N":"1"}}],"LastEvaluatedKey":{"num":{"N":"1"}}}`
	c := client(t, newScript(ok(one), ok(one), ok(`{"Items":[]}`)))
	query, err := c.Query(t.Context(), &dynamo.Meter{}, &dynamodb.QueryInput{TableName: aws.String(table)})
	if err != nil || len(query.Items) != 1 || query.Next["num"] == nil {
		t.Errorf("%+v, %v", query, err)
	}
	scan, err := c.Scan(t.Context(), &dynamo.Meter{}, &dynamodb.ScanInput{TableName: aws.String(table)})
	if err != nil || len(scan.Items) != 1 || scan.Next["num"] == nil {
		t.Errorf("%+v, %v", scan, err)
	}
	last, err := c.Query(t.Context(), &dynamo.Meter{}, &dynamodb.QueryInput{TableName: aws.String(table)})
	if err != nil || last.Next != nil {
		t.Errorf("%+v, %v", last, err)
	}
}

func TestReadsAreStronglyConsistent(t *testing.T) {
	s := newScript(ok(`{"Item":{"num":{"N":"1"}}}`), ok(`{}`))
	c := client(t, s)
	if item, err := get(t, c); err != nil || item["num"] == nil {
		t.Errorf("%v, %v", item, err)
	}
	if item, err := get(t, c); err != nil || item != nil {
		t.Errorf("an item that does not exist is %v, %v", item, err)
	}
	if s.attempts()[0].body["ConsistentRead"] != true {
		t.Errorf("asked for %v", s.attempts()[0].body)
	}
}
