package systemtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
)

// writeFault responds to the nth request that writes. forward sends the request.
type writeFault func(n int64, request *http.Request, forward func() (*http.Response, error)) (*http.Response, error)

// faultyWire is an HTTP client with a fault for the requests that write.
type faultyWire struct {
	client aws.HTTPClient
	fault  atomic.Pointer[writeFault]
	writes atomic.Int64
}

// writing lists the operations that change stored data.
var writing = []string{
	"BatchExecuteStatement", "BatchWriteItem", "CreateTable", "DeleteItem", "DeleteTable", "PutItem", "UpdateItem", "UpdateTable",
	"UpdateTimeToLive",
}

// Do implements aws.HTTPClient.
func (w *faultyWire) Do(request *http.Request) (*http.Response, error) {
	forward := func() (*http.Response, error) { return w.client.Do(request) }
	_, operation, _ := strings.Cut(request.Header.Get("X-Amz-Target"), ".")
	fault := w.fault.Load()
	if fault == nil || !slices.Contains(writing, operation) {
		return forward()
	}
	return (*fault)(w.writes.Add(1), request, forward)
}

// refusal returns a response of DynamoDB with an error code.
func refusal(request *http.Request, code string) *http.Response {
	body := fmt.Appendf(nil, `{"__type":"com.amazonaws.dynamodb.v20120810#%s","message":"no"}`, code)
	return &http.Response{
		StatusCode: http.StatusBadRequest,
		Header: http.Header{
			"Content-Type": {"application/x-amz-json-1.0"},
			"X-Amz-Crc32":  {strconv.FormatUint(uint64(crc32.ChecksumIEEE(body)), 10)},
		},
		Body:          io.NopCloser(bytes.NewReader(body)),
		ContentLength: int64(len(body)),
		Request:       request,
	}
}

func refuse(code string) writeFault {
	return func(_ int64, request *http.Request, _ func() (*http.Response, error)) (*http.Response, error) {
		return refusal(request, code), nil
	}
}

var errLost = errors.New("the response is lost")

// lose loses the response of the first write. If done is true, the write is done.
func lose(done bool) writeFault {
	return func(_ int64, _ *http.Request, forward func() (*http.Response, error)) (*http.Response, error) {
		if done {
			response, err := forward()
			if err != nil {
				return nil, err
			}
			_ = response.Body.Close()
		}
		return nil, errLost
	}
}

// secondThrottled lets the first write succeed, and throttles all others.
func secondThrottled(n int64, request *http.Request, forward func() (*http.Response, error)) (*http.Response, error) {
	if n == 1 {
		return forward()
	}
	return refusal(request, "ProvisionedThroughputExceededException"), nil
}

// scene is a journal with a faulty HTTP client.
type scene struct {
	*testing.T

	engine *embedded.Engine
	wire   *faultyWire
	config dynajournal.Config
}

func newScene(t *testing.T) *scene {
	t.Helper()
	engine := openEngine(t)
	config := dynajournal.Config{AWS: engine.AWSConfig(), Retries: -1}
	wire := &faultyWire{client: config.AWS.HTTPClient}
	config.AWS.HTTPClient = wire
	return &scene{t, engine, wire, config}
}

// journal creates the tables and opens the journal.
func (s *scene) journal() *dynajournal.Journal {
	s.Helper()
	createTables(s, s.config, dynajournal.TableOptions{})
	return openJournal(s, s.config)
}

// writer returns a writer of an id with the given number of events.
func (s *scene) writer(j *dynajournal.Journal, pid string, events int) *dynajournal.Writer {
	s.Helper()
	w := recoverWriter(s.T, j, pid, 0)
	for range events {
		if _, err := w.Append(s.Context(), "event"); err != nil {
			s.Fatal(err)
		}
	}
	return w
}

// removeItem deletes an item of the journal table without the journal.
func (s *scene) removeItem(par string, num int) {
	s.Helper()
	_, err := dynamodb.NewFromConfig(s.engine.AWSConfig()).DeleteItem(s.Context(), &dynamodb.DeleteItemInput{
		TableName: aws.String(dynajournal.DefaultJournalTable),
		Key: map[string]types.AttributeValue{
			"par": &types.AttributeValueMemberS{Value: par},
			"num": &types.AttributeValueMemberN{Value: strconv.Itoa(num)},
		},
	})
	if err != nil {
		s.Fatal(err)
	}
}

// errorOf returns the first error of a sequence.
func errorOf[T any](all iter.Seq2[T, error]) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}

// change is a call that changes stored data.
type change struct {
	// prepare returns the call.
	prepare func(s *scene) func(context.Context) error
	// several reports whether the call sends a second write after the first has succeeded.
	several bool
}

// sendAtOnce lists the changes that send several writes at the same time. When one is refused, the
// others in flight are cancelled, and it is unknown whether they were also refused.
var sendAtOnce = []string{"PutRecords", "SaveSnapshot in parts"}

var changes = map[string]change{
	"Append": {func(s *scene) func(context.Context) error {
		w := s.writer(s.journal(), "a", 1)
		return func(ctx context.Context) error {
			_, err := w.Append(ctx, "new")
			return err
		}
	}, false},
	"AppendEach": {func(s *scene) func(context.Context) error {
		w := s.writer(s.journal(), "a", 1)
		return func(ctx context.Context) error {
			_, err := w.AppendEach(ctx, "new", "newer")
			return err
		}
	}, true},
	"DeleteTo": {func(s *scene) func(context.Context) error {
		w := s.writer(s.journal(), "a", 3)
		return func(ctx context.Context) error {
			_, err := w.DeleteTo(ctx, 2)
			return err
		}
	}, true},
	"Purge": {func(s *scene) func(context.Context) error {
		w := s.writer(s.journal(), "a", 3)
		return func(ctx context.Context) error {
			_, err := w.Purge(ctx, dynajournal.PurgeOptions{})
			return err
		}
	}, true},
	"Purge at once": {func(s *scene) func(context.Context) error {
		w := s.writer(s.journal(), "a", 3)
		return func(ctx context.Context) error {
			_, err := w.Purge(ctx, dynajournal.PurgeOptions{Now: true})
			return err
		}
	}, true},
	"SaveSnapshot": {func(s *scene) func(context.Context) error {
		j := s.journal()
		return func(ctx context.Context) error {
			_, err := j.SaveSnapshot(ctx, dynajournal.SnapshotMetadata{PersistenceID: "a", SequenceNumber: 1}, "state")
			return err
		}
	}, false},
	"SaveSnapshot in parts": {func(s *scene) func(context.Context) error {
		j := s.journal()
		return func(ctx context.Context) error {
			state := strings.Repeat("x", 2*dynajournal.DefaultMaxItemSize)
			_, err := j.SaveSnapshot(ctx, dynajournal.SnapshotMetadata{PersistenceID: "a", SequenceNumber: 1}, state)
			return err
		}
	}, true},
	"CopySnapshot": {func(s *scene) func(context.Context) error {
		j := s.journal()
		return func(ctx context.Context) error {
			_, err := j.CopySnapshot(ctx, dynajournal.Snapshot{
				SnapshotMetadata: dynajournal.SnapshotMetadata{PersistenceID: "a", SequenceNumber: 1}, Bytes: []byte("state"),
			})
			return err
		}
	}, false},
	"DeleteSnapshots": {func(s *scene) func(context.Context) error {
		j := s.journal()
		if _, err := j.SaveSnapshot(s.Context(), dynajournal.SnapshotMetadata{PersistenceID: "a", SequenceNumber: 1}, "state"); err != nil {
			s.Fatal(err)
		}
		return func(ctx context.Context) error {
			_, err := j.DeleteSnapshots(ctx, "a", dynajournal.SnapshotCriteria{})
			return err
		}
	}, false},
	"PutRecords": {func(s *scene) func(context.Context) error {
		j := s.journal()
		s.writer(j, "a", 3)
		return func(ctx context.Context) error {
			records := j.Records(s.Context(), "a", dynajournal.RecordsOptions{})
			_, err := j.PutRecords(ctx, "b", records, dynajournal.PutRecordsOptions{})
			return err
		}
	}, true},
	"UpgradeEvents": {func(s *scene) func(context.Context) error {
		s.config.OldEventFormat = true
		j := s.journal()
		s.writer(j, "a", 3)
		return func(ctx context.Context) error {
			_, err := j.UpgradeEvents(ctx, "a", dynajournal.UpgradeOptions{})
			return err
		}
	}, true},
	"Repair": {func(s *scene) func(context.Context) error {
		j := s.journal()
		s.writer(j, "a", 105)
		s.removeItem("journal-SH-a-0", 0)
		return func(ctx context.Context) error {
			return errorOf(j.Repair(ctx, "a", dynajournal.VerifyOptions{}))
		}
	}, false},
	"RepairAll": {func(s *scene) func(context.Context) error {
		j := s.journal()
		for _, pid := range []string{"a", "b"} {
			s.writer(j, pid, 105)
			s.removeItem("journal-SH-"+pid+"-0", 0)
		}
		return func(ctx context.Context) error {
			return errorOf(j.RepairAll(ctx, dynajournal.VerifyOptions{Parallelism: 1}))
		}
	}, true},
	"CreateTables": {func(s *scene) func(context.Context) error {
		return func(ctx context.Context) error {
			return dynajournal.CreateTables(ctx, s.config, dynajournal.TableOptions{})
		}
	}, true},
	"UpdateTables": {func(s *scene) func(context.Context) error {
		client := dynamodb.NewFromConfig(s.engine.AWSConfig())
		_, err := client.CreateTable(s.Context(), &dynamodb.CreateTableInput{
			TableName: aws.String(dynajournal.DefaultJournalTable),
			AttributeDefinitions: []types.AttributeDefinition{
				{AttributeName: aws.String("par"), AttributeType: types.ScalarAttributeTypeS},
				{AttributeName: aws.String("num"), AttributeType: types.ScalarAttributeTypeN},
			},
			KeySchema: []types.KeySchemaElement{
				{AttributeName: aws.String("par"), KeyType: types.KeyTypeHash},
				{AttributeName: aws.String("num"), KeyType: types.KeyTypeRange},
			},
			BillingMode: types.BillingModePayPerRequest,
		})
		if err != nil {
			s.Fatal(err)
		}
		return func(ctx context.Context) error {
			_, err := dynajournal.UpdateTables(ctx, s.config, dynajournal.UpdateOptions{})
			return err
		}
	}, true},
	"DeleteTables": {func(s *scene) func(context.Context) error {
		s.journal()
		return func(ctx context.Context) error {
			_, err := dynajournal.DeleteTables(ctx, s.config)
			return err
		}
	}, true},
}

func TestMaybeAppliedReportsWhetherACallMayHaveChangedWhatIsStored(t *testing.T) {
	t.Parallel()
	faults := map[string]struct {
		fault writeFault
		want  bool
	}{
		"throttled":               {refuse("ProvisionedThroughputExceededException"), false},
		"denied":                  {refuse("AccessDeniedException"), false},
		"done, response lost":     {lose(true), true},
		"not done, response lost": {lose(false), true},
		"second write throttled":  {secondThrottled, true},
	}
	for name, c := range changes {
		for fault, f := range faults {
			if fault == "second write throttled" && !c.several {
				continue
			}
			t.Run(name+"/"+fault, func(t *testing.T) {
				t.Parallel()
				s := newScene(t)
				call := c.prepare(s)
				s.wire.fault.Store(&f.fault)
				err := call(t.Context())
				if !f.want && slices.Contains(sendAtOnce, name) && dynajournal.MaybeApplied(err) {
					return
				}
				if err == nil || dynajournal.MaybeApplied(err) != f.want {
					t.Errorf("MaybeApplied reports %v, want %v, of the error %v", !f.want, f.want, err)
				}
			})
		}
	}
}

func TestMaybeAppliedReportsFalseIfTheContextHasEndedBeforeTheCall(t *testing.T) {
	t.Parallel()
	for name, c := range changes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call := c.prepare(newScene(t))
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := call(ctx); !errors.Is(err, context.Canceled) || dynajournal.MaybeApplied(err) {
				t.Errorf("MaybeApplied reports true, or the error is another: %v", err)
			}
		})
	}
}

func TestMaybeAppliedReportsTrueIfTheContextEndsAfterAWriteIsSent(t *testing.T) {
	t.Parallel()
	for name, c := range changes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			call := c.prepare(s)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			returned := make(chan struct{})
			var cancels writeFault = func(_ int64, request *http.Request, _ func() (*http.Response, error)) (*http.Response, error) {
				cancel()
				select {
				case <-request.Context().Done():
				case <-returned: // an append continues without its caller
				}
				return nil, errLost
			}
			s.wire.fault.Store(&cancels)
			err := call(ctx)
			close(returned)
			if !errors.Is(err, context.Canceled) || !dynajournal.MaybeApplied(err) {
				t.Errorf("MaybeApplied reports false, or the error is another: %v", err)
			}
		})
	}
}

func TestMaybeApplied_NothingWritten(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	j := s.journal()
	loser := s.writer(j, "a", 0)
	s.writer(j, "a", 1)
	_, conflict := loser.Append(t.Context(), "late")
	_, ended := loser.Append(t.Context(), "later")
	unknown := s.writer(j, "b", 1)
	lost := lose(true)
	s.wire.fault.Store(&lost)
	if _, err := unknown.Append(t.Context(), "lost"); !dynajournal.MaybeApplied(err) {
		t.Errorf("MaybeApplied reports false of %v", err)
	}
	s.wire.fault.Store(nil)
	_, afterUnknown := unknown.Append(t.Context(), "refused")
	_, rejected := s.writer(j, "c", 0).Append(t.Context(), struct{}{})
	_, argument := s.writer(j, "c", 0).Append(t.Context())
	for want, err := range map[error]error{
		dynajournal.ErrWriterConflict: conflict, dynajournal.ErrWriterEnded: ended, dynajournal.ErrOutcomeUnknown: afterUnknown,
		dynajournal.ErrRejected: rejected, dynajournal.ErrInvalidArgument: argument,
	} {
		if !errors.Is(err, want) || dynajournal.MaybeApplied(err) || dynajournal.MaybeApplied(fmt.Errorf("wrapped: %w", err)) {
			t.Errorf("MaybeApplied reports true, or the error is not %v: %v", want, err)
		}
	}
	if !errors.Is(afterUnknown, dynajournal.ErrWriterEnded) {
		t.Errorf("the error of a writer that has ended is %v", afterUnknown)
	}
	joined := errors.Join(afterUnknown, &dynajournal.OutcomeUnknownError{Err: errLost})
	if dynajournal.MaybeApplied(nil) || dynajournal.MaybeApplied(errLost) || !dynajournal.MaybeApplied(joined) {
		t.Errorf("MaybeApplied reports %v, %v, %v of no error, another's error and a joined one",
			dynajournal.MaybeApplied(nil), dynajournal.MaybeApplied(errLost), dynajournal.MaybeApplied(joined))
	}
}

func TestMaybeAppliedReportsFalseOfAnEventThatWasNotWritten(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	w := s.writer(s.journal(), "a", 1)
	fault := writeFault(secondThrottled)
	s.wire.fault.Store(&fault)
	outcomes, err := w.AppendEach(t.Context(), "written", "throttled", "skipped")
	if !errors.Is(err, dynajournal.ErrThrottled) || !dynajournal.MaybeApplied(err) {
		t.Errorf("MaybeApplied reports false of the call, or the error is another: %v", err)
	}
	for i, o := range outcomes {
		if dynajournal.MaybeApplied(o.Err) || (o.Err == nil) != (i == 0) {
			t.Errorf("event %d: MaybeApplied reports true, or the error is another: %v", i, o.Err)
		}
	}
}

func TestMaybeAppliedReportsFalseOfARecovery(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	j := s.journal()
	s.writer(j, "a", 3)
	s.removeItem("journal-P-a-0", 2) // which the recovery seals
	lost := lose(true)
	s.wire.fault.Store(&lost)
	if _, err := j.Recover(t.Context(), "a", dynajournal.RecoverOptions{SkipMissing: true}, nil); !errors.Is(err, errLost) || dynajournal.MaybeApplied(err) {
		t.Errorf("MaybeApplied reports true, or the error is another: %v", err)
	}
}
