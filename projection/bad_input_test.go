package projection_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
)

func TestArguments_Invalid(t *testing.T) {
	t.Parallel()
	b := setup(t)
	good := projection.AtLeastOnce("all", &recorder{})
	for name, change := range map[string]func(*projection.Config){
		"no name":                 func(c *projection.Config) { c.Name = "" },
		"a name with a slash":     func(c *projection.Config) { c.Name = "a/b" },
		"a name with a NUL":       func(c *projection.Config) { c.Name = "a\x00b" },
		"a name that is no UTF-8": func(c *projection.Config) { c.Name = "\xff" },
		"a long name":             func(c *projection.Config) { c.Name = strings.Repeat("n", 101) },
		"negative attempts":       func(c *projection.Config) { c.Attempts = -1 },
		"a large batch":           func(c *projection.Config) { c.BatchSize = 10_001 },
		"negative concurrency":    func(c *projection.Config) { c.Concurrency = -1 },
		"a short claim":           func(c *projection.Config) { c.ClaimTimeout = time.Millisecond },
		"a negative pause":        func(c *projection.Config) { c.RetryShortest = -1 },
		"pauses the wrong way":    func(c *projection.Config) { c.RetryShortest, c.RetryLongest = 2, 1 },
		"a negative interval": func(c *projection.Config) {
			c.Source = projection.Sweep(projection.SweepOptions{Every: -1})
		},
		"a rate that is no number": func(c *projection.Config) {
			c.Source = projection.Sweep(projection.SweepOptions{PerSecond: math.NaN()})
		},
	} {
		config := fast()
		change(&config)
		_, err := projection.New(b.journal, config, good)
		wantError(t, name, err, dynajournal.ErrInvalidArgument)
	}
	for name, projections := range map[string][]projection.Projection{
		"none":           nil,
		"without name":   {projection.AtLeastOnce("", &recorder{})},
		"slash":          {projection.Transactional("a/b", &effects{})},
		"no handler":     {projection.AtLeastOnce("a", nil)},
		"nothing at all": {{}},
		"twice":          {good, projection.AtLeastOnce("all", &recorder{})},
		"no prefix":      {projection.AtLeastOnce("a", &recorder{}, projection.OnlyIDs())},
		"an empty tag":   {projection.AtLeastOnce("a", &recorder{}, projection.OnlyTags("x", ""))},
		"an empty type":  {projection.Transactional("a", &effects{}, projection.OnlyTypes(""))},
	} {
		_, err := projection.New(b.journal, fast(), projections...)
		wantError(t, name, err, dynajournal.ErrInvalidArgument)
	}
	_, err := projection.New(nil, fast(), good)
	wantError(t, "no journal", err, dynajournal.ErrInvalidArgument)
	wantError(t, "Resume of another", group(t, b.journal, fast(), good).Resume(t.Context(), "none", "a"), dynajournal.ErrInvalidArgument)
	filtered := group(t, b.journal, fast(), projection.AtLeastOnce("all", &recorder{}, projection.OnlyIDs("b")))
	wantError(t, "Resume of an id that is left out", filtered.Resume(t.Context(), "all", "a"), dynajournal.ErrInvalidArgument)
	for name, err := range map[string]error{
		"no journal":       projection.WaitFor(t.Context(), nil, "group/all", "a", 1),
		"no slash":         projection.WaitFor(t.Context(), b.journal, "all", "a", 1),
		"two slashes":      projection.WaitFor(t.Context(), b.journal, "a/b/c", "a", 1),
		"no group":         projection.WaitFor(t.Context(), b.journal, "/all", "a", 1),
		"negative numbers": projection.WaitFor(t.Context(), b.journal, "group/all", "a", -1),
	} {
		wantError(t, "WaitFor: "+name, err, dynajournal.ErrInvalidArgument)
	}
}

func TestRun_MissingOrForeignTable(t *testing.T) {
	t.Parallel()
	b := setup(t)
	other := func(c *dynajournal.Config) { c.JournalTable, c.SnapshotTable = "other", "other-snapshots" }
	config := b.Config
	other(&config)
	if err := dynajournal.CreateTables(t.Context(), config, dynajournal.TableOptions{}); err != nil {
		t.Fatal(err)
	}
	g := group(t, b.Journal(other), fast(), projection.AtLeastOnce("all", &recorder{}))
	err := g.Run(t.Context())
	wantError(t, "without a table", err, projection.ErrNoTable)
	wantError(t, "without a table", err, dynajournal.ErrTableNotFound)
	_, err = b.table.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: aws.String("other-projections"), BillingMode: types.BillingModePayPerRequest,
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("LeaseKey"), KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("LeaseKey"), AttributeType: "S"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	err = g.Run(t.Context())
	wantError(t, "a table of something else", err, projection.ErrNoTable)
	wantError(t, "a table of something else", err, dynajournal.ErrTableSchema)
	err = dynajournal.CreateTables(t.Context(), config, dynajournal.TableOptions{Projections: true})
	wantError(t, "CreateTables", err, dynajournal.ErrTableSchema)
	if deleted, err := dynajournal.DeleteTables(t.Context(), config); err != nil || len(deleted) != 3 {
		t.Errorf("deleted %v, %v", deleted, err)
	}
}

// A row that another program has damaged is an error that names the row, and no event is skipped.
func TestRow_DamagedIsError(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("a", "x")
	damaged := rowKey("group/all", "a")
	damaged["seq"] = &types.AttributeValueMemberS{Value: "1"}
	if _, err := b.table.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(projectionsTable), Item: damaged}); err != nil {
		t.Fatal(err)
	}
	err := projection.WaitFor(t.Context(), b.journal, "group/all", "a", 1)
	wantError(t, "WaitFor", err, dynajournal.ErrCorruptItem)
	err = group(t, b.journal, fast(), projection.AtLeastOnce("all", &recorder{})).Resume(t.Context(), "all", "a")
	wantError(t, "Resume", err, dynajournal.ErrCorruptItem)
}
