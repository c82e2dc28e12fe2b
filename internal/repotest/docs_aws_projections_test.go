package repotest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/testsize"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/awslambda"
)

// underPolicy creates tables with events. It returns the configuration of a client that is denied
// every action that the policy does not allow.
func underPolicy(t *testing.T, engine *embedded.Engine, policy string, ids int) (dynajournal.Config, *sentActions) {
	t.Helper()
	config := dynajournal.Config{AWS: engine.AWSConfig(), Logger: slog.New(slog.DiscardHandler)}
	if err := dynajournal.CreateTables(t.Context(), config, dynajournal.TableOptions{Projections: true, Stream: true}); err != nil {
		t.Fatal(err)
	}
	journal, err := dynajournal.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	for i := range ids {
		writer, err := journal.Recover(t.Context(), fmt.Sprintf("order-%03d", i), dynajournal.RecoverOptions{}, nil)
		if err == nil {
			_, err = writer.Append(t.Context(), "placed", "paid")
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := journal.Close(); err != nil {
		t.Fatal(err)
	}
	sent := &sentActions{
		client: config.AWS.HTTPClient, found: map[string]map[string]bool{},
		allowed: allowedActions(t, path.Join("docs", "aws", policy)),
	}
	config.AWS.HTTPClient = sent
	return config, sent
}

// runUntil runs a group until its projections have handled all events of the last id, and also has
// returned.
func runUntil(
	t *testing.T, journal *dynajournal.Journal, config projection.Config, last string, also func(context.Context),
	all ...projection.Projection,
) {
	t.Helper()
	group, err := projection.New(journal, config, all...)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- group.Run(ctx) }()
	within, over := context.WithTimeout(ctx, time.Minute)
	defer over()
	err = projection.WaitFor(within, journal, config.Name+"/all", last, 2)
	also(within)
	cancel()
	if err := errors.Join(err, <-ended); err != nil {
		t.Error(err)
	}
}

func TestProjectionsPolicy_ExactActions(t *testing.T) {
	testsize.NeedsLong(t, "it sweeps hundreds of persistence ids")
	t.Parallel()
	const ids = 300 // more than a sweep handles between two stored positions
	var ahead atomic.Int64
	engine := openEngine(t, embedded.WithClock(func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }))
	config, sent := underPolicy(t, engine, "projections-policy.json", ids)
	journal, err := dynajournal.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer journal.Close()
	ignore := projection.HandlerFunc(func(context.Context, dynajournal.Event) error { return nil })
	last := fmt.Sprintf("order-%03d", ids-1)
	sends := func(action string) bool {
		return slices.Contains(sent.actions()[dynajournal.DefaultJournalTable+"-projections"], action)
	}
	var once sync.Once
	swept := make(chan struct{})
	runUntil(t, journal, projection.Config{
		Name: "swept", Source: projection.Sweep(projection.SweepOptions{PerSecond: -1}),
		Hooks: []projection.Hook{{OnSweep: func(context.Context, projection.SweepCount) { once.Do(func() { close(swept) }) }}},
	}, last, func(context.Context) {}, projection.AtLeastOnce("all", projection.HandlerFunc(func(ctx context.Context, e dynajournal.Event) error {
		// The other ids are done meanwhile, so a position is stored.
		for e.PersistenceID == last && !sends("dynamodb:PutItem") && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		return ctx.Err()
	})))
	<-swept
	runUntil(t, journal, projection.Config{
		Name: "streamed", Source: projection.Streams(dynamodbstreams.NewFromConfig(config.AWS), projection.StreamsOptions{
			LeaseTimeout: 300 * time.Millisecond, PerSecond: -1, Poll: time.Millisecond,
		}),
	}, last, func(ctx context.Context) {
		// Shards are trimmed, and their leases are deleted a day later.
		for !sends("dynamodb:DeleteItem") && ctx.Err() == nil {
			ahead.Add(int64(25 * time.Hour))
			if _, err := engine.SweepExpired(); err != nil {
				t.Error(err)
			}
			time.Sleep(500 * time.Millisecond)
		}
	}, projection.AtLeastOnce("all", ignore), projection.AtLeastOnce("now", ignore, projection.FromNow()))
	if got := sent.actions(); !reflect.DeepEqual(got, sent.allowed) {
		t.Errorf("a worker sends\n%v\nthe policy allows\n%v", got, sent.allowed)
	}
}

// The event source mapping reads the stream with the role of the function.
func TestLambdaPolicy_ExactActions(t *testing.T) {
	testsize.NeedsLong(t, "it sweeps hundreds of persistence ids")
	t.Parallel()
	const ids = 300 // more than a sweep handles between two stored positions
	config, sent := underPolicy(t, openEngine(t), "lambda-policy.json", ids)
	journal, err := dynajournal.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer journal.Close()
	ignore := projection.HandlerFunc(func(context.Context, dynajournal.Event) error { return nil })
	group, err := projection.New(journal, projection.Config{
		Name: "billing", Source: awslambda.Source(awslambda.Options{PerSecond: -1}),
	}, projection.AtLeastOnce("all", ignore))
	if err != nil {
		t.Fatal(err)
	}
	event, err := os.ReadFile(inRoot("examples/lambda/testdata/events.json"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := awslambda.Handler(group)(ctx, event); err != nil {
		t.Error(err)
	}
	if err := awslambda.Maintain(ctx, group); err != nil {
		t.Error(err)
	}
	for i := range ids {
		if err := projection.WaitFor(ctx, journal, "billing/all", fmt.Sprintf("order-%03d", i), 2); err != nil {
			t.Error(err)
		}
	}
	got := sent.actions()
	got[streamOfJournal] = append(got[streamOfJournal],
		"dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator", "dynamodb:ListStreams")
	slices.Sort(got[streamOfJournal])
	// Lambda writes the logs with the role of the function.
	got[logsOfFunction] = []string{"logs:CreateLogGroup", "logs:CreateLogStream", "logs:PutLogEvents"}
	if !reflect.DeepEqual(got, sent.allowed) {
		t.Errorf("a function sends\n%v\nthe policy allows\n%v", got, sent.allowed)
	}
}
