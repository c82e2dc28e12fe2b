package projections_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
)

// The environment variables that make the test program a process of TestKilledProcesses: its role,
// the engine's address, and the file with the events that were handled at least once.
const (
	roleVariable = "PROJECTIONS_ROLE"
	urlVariable  = "PROJECTIONS_URL"
	fileVariable = "PROJECTIONS_FILE"

	roleWorker = "worker"
	roleWriter = "writer"
)

// served is the number of persistence ids that the processes use.
const served = 4

// play plays the role of a process until it gets SIGTERM, or the test has ended.
func play(role string) error {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // until the test ends
		os.Exit(1)
	}()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	config := servedConfig(os.Getenv(urlVariable))
	j, err := dynajournal.Open(ctx, config)
	switch {
	case ctx.Err() != nil:
		return nil // it is stopped before it has started
	case err != nil:
		return err
	}
	if role == roleWriter {
		err = writeAlways(ctx, j)
	} else {
		err = work(ctx, j, config.AWS)
	}
	_ = j.Close()
	return err
}

func servedConfig(url string) dynajournal.Config {
	return dynajournal.Config{
		AWS: aws.Config{
			Region: "us-east-1", BaseEndpoint: &url, Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
		},
		Logger: slog.New(slog.DiscardHandler),
	}
}

// work runs projections until ctx ends.
func work(ctx context.Context, j *dynajournal.Journal, config aws.Config) error {
	file, err := os.OpenFile(os.Getenv(fileVariable), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	group, err := projection.New(j, projection.Config{
		Name: groupName(0), Attempts: 1000, ClaimTimeout: 500 * time.Millisecond,
		Source: projection.Streams(dynamodbstreams.NewFromConfig(config), projection.StreamsOptions{
			LeaseTimeout: 500 * time.Millisecond, Poll: 20 * time.Millisecond, PerSecond: -1,
		}),
	}, projection.AtLeastOnce(called{}.name(), lines{file}), projection.Transactional(effects{}.name(), items{}))
	if err != nil {
		return err
	}
	return group.Run(ctx)
}

// writeAlways appends to all persistence ids until ctx ends. The texts of events are unique.
func writeAlways(ctx context.Context, j *dynajournal.Journal) error {
	var writers []*dynajournal.Writer
	for i := range served {
		w, err := j.Recover(ctx, odd[i], dynajournal.RecoverOptions{}, nil)
		if err != nil {
			return ended(ctx, err)
		}
		writers = append(writers, w)
	}
	for n := 0; ; n++ {
		i := n % served
		events := make([]any, 1+n%3)
		for e := range events {
			events[e] = fmt.Sprintf("%d 0 %d", i, time.Now().UnixNano())
		}
		if _, err := writers[i].Append(ctx, events...); err != nil {
			return ended(ctx, err)
		}
		time.Sleep(time.Millisecond)
	}
}

// ended returns err, or nil if ctx has ended: stopping a process is not an error.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// lines is a handler that appends a line for each event to a file, in one write.
type lines struct{ io.Writer }

func (l lines) Handle(_ context.Context, e dynajournal.Event) error {
	text, err := dynajournal.Decode[string](context.Background(), e)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(l, "%d %d %s\n", slices.Index(odd, e.PersistenceID), e.SequenceNumber, text)
	return err
}

// items is a transactional handler without faults.
type items struct{}

func (items) Handle(_ context.Context, e dynajournal.Event) ([]types.TransactWriteItem, error) {
	text, err := dynajournal.Decode[string](context.Background(), e)
	return effect(effectKey(0, effects{}, e.PersistenceID), report{event, text, e.SequenceNumber, e.SequenceNumber}), err
}
