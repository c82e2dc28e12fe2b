package doctor_test

import (
	"bytes"
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"go.uber.org/goleak"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/doctor"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/projection"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patient is a journal on an engine, with all tables, one persistence id and its snapshot.
type patient struct {
	*testing.T

	engine *embedded.Engine
	config dynajournal.Config
	client *dynamodb.Client
}

func newPatient(t *testing.T, options dynajournal.TableOptions) *patient {
	t.Helper()
	engine, err := embedded.OpenMemory(embedded.WithSweepInterval(0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = engine.Close() })
	p := &patient{T: t, engine: engine, config: dynajournal.Config{AWS: engine.AWSConfig()}, client: dynamodb.NewFromConfig(engine.AWSConfig())}
	options.Projections, options.Stream = true, true
	if err := dynajournal.CreateTables(t.Context(), p.config, options); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{dynajournal.DefaultJournalTable, dynajournal.DefaultSnapshotTable, projections} {
		p.protect(table)
	}
	p.with(func(j *dynajournal.Journal) {
		w, err := j.Recover(t.Context(), "a", dynajournal.RecoverOptions{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Append(t.Context(), "x", "y"); err != nil {
			t.Fatal(err)
		}
		if _, err := j.SaveSnapshot(t.Context(), dynajournal.SnapshotMetadata{PersistenceID: "a", SequenceNumber: 2}, "state"); err != nil {
			t.Fatal(err)
		}
	})
	return p
}

const projections = dynajournal.DefaultJournalTable + "-projections"

// protect protects a table from deletion. The engine can't enable point-in-time recovery.
func (p *patient) protect(table string) {
	p.Helper()
	if _, err := p.client.UpdateTable(p.Context(), &dynamodb.UpdateTableInput{TableName: &table, DeletionProtectionEnabled: aws.Bool(true)}); err != nil {
		p.Fatal(err)
	}
}

// with calls do with an open journal.
func (p *patient) with(do func(*dynajournal.Journal)) {
	p.Helper()
	j, err := dynajournal.Open(p.Context(), p.config)
	if err != nil {
		p.Fatal(err)
	}
	do(j)
	if err := j.Close(); err != nil {
		p.Fatal(err)
	}
}

// wrong returns the results that are not ok, as status and name.
func (p *patient) wrong(options doctor.Options) ([]string, []doctor.Check) {
	p.Helper()
	all := doctor.Run(p.Context(), p.config, options)
	var wrong []string
	for _, c := range all {
		if c.Status != doctor.StatusOK && !strings.HasPrefix(c.Name, "backup.") {
			wrong = append(wrong, fmt.Sprintf("%s %s", c.Status, c.Name))
		}
		switch {
		case c.Name == "" || c.Found == "":
			p.Errorf("%+v does not say what was found", c)
		case (c.Status == doctor.StatusError || c.Status == doctor.StatusWarn) && (c.Want == "" || c.Fix == ""):
			p.Errorf("%+v does not say what to do", c)
		}
	}
	return wrong, all
}

func (p *patient) want(options doctor.Options, want ...string) []doctor.Check {
	p.Helper()
	wrong, all := p.wrong(options)
	if !slices.Equal(wrong, want) {
		p.Errorf("the doctor finds %q, want %q\n%+v", wrong, want, all)
	}
	return all
}

// inject makes the engine fail.
func (p *patient) inject(f embedded.Fault) {
	p.Helper()
	if _, err := p.engine.Inject(f); err != nil {
		p.Fatal(err)
	}
}

var everyRole = doctor.Options{Roles: []doctor.Role{doctor.RoleService, doctor.RoleProjections}}

func TestRun_NothingWrong(t *testing.T) {
	for name, options := range map[string]dynajournal.TableOptions{"native": {}, "shared": {SharedWithJVM: true}} {
		t.Run(name, func(t *testing.T) {
			p := newPatient(t, options)
			all := p.want(everyRole)
			if len(all) < 25 {
				t.Errorf("there are only %d checks: %+v", len(all), all)
			}
			p.want(doctor.Options{})
			p.want(doctor.Options{Roles: []doctor.Role{doctor.RoleReader}})
		})
	}
}

// The doctor changes nothing, and its cost is bounded.
func TestRun_CostsLittleAndWritesNothing(t *testing.T) {
	for name, roles := range map[string][]doctor.Role{"service": {doctor.RoleService}, "projections": everyRole.Roles} {
		t.Run(name, func(t *testing.T) {
			p := newPatient(t, dynajournal.TableOptions{})
			p.with(func(j *dynajournal.Journal) {
				for i := range 3000 { // a page of the index has 1 MB
					w, err := j.Recover(t.Context(), fmt.Sprint("id-", strings.Repeat("x", 300), i), dynajournal.RecoverOptions{}, nil)
					if err != nil {
						t.Fatal(err)
					}
					if _, err := w.Append(t.Context(), "x"); err != nil {
						t.Fatal(err)
					}
				}
			})
			before := p.items()
			counted := &meter{inner: p.config.AWS.HTTPClient}
			p.config.AWS.HTTPClient = counted
			p.want(doctor.Options{Roles: roles})
			most := map[string]float64{"service": 6, "projections": 12}[name]
			if counted.reads > 150 || counted.writes > most {
				t.Errorf("it used %v read units and %v write units, at most 150 and %v are allowed", counted.reads, counted.writes, most)
			}
			if after := p.items(); after != before {
				t.Errorf("the tables have %d items after it, %d before", after, before)
			}
		})
	}
}

// items returns the number of items of all tables.
func (p *patient) items() int {
	p.Helper()
	n := 0
	for _, table := range []string{dynajournal.DefaultJournalTable, dynajournal.DefaultSnapshotTable, projections} {
		for page, err := range pages(p.Context(), p.client, table) {
			if err != nil {
				p.Fatal(err)
			}
			n += page
		}
	}
	return n
}

// pages returns the number of items of each page of a table.
func pages(ctx context.Context, client *dynamodb.Client, table string) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		scan := dynamodb.NewScanPaginator(client, &dynamodb.ScanInput{TableName: &table})
		for scan.HasMorePages() {
			out, err := scan.NextPage(ctx)
			if err != nil {
				yield(0, err)
				return
			}
			if !yield(len(out.Items), nil) {
				return
			}
		}
	}
}

// meter is an HTTP client that counts a unit for each write of an item of less than 1 KB, and for
// each read a unit for each 4 KB of the response, at least one. DynamoDB charges at most that.
type meter struct {
	inner aws.HTTPClient

	mu            sync.Mutex
	reads, writes float64
}

func (m *meter) Do(r *http.Request) (*http.Response, error) {
	response, err := m.inner.Do(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	m.mu.Lock()
	defer m.mu.Unlock()
	switch operation {
	case "PutItem", "UpdateItem", "DeleteItem", "ExecuteStatement":
		m.writes++
	case "GetItem", "Query", "Scan":
		m.reads += 1 + float64(len(body)/4096)
	case "BatchGetItem":
		m.reads += 3
	}
	return response, nil
}

func TestRun_OneThingWrong(t *testing.T) {
	journal, snapshots := aws.String(dynajournal.DefaultJournalTable), aws.String(dynajournal.DefaultSnapshotTable)
	unprotect := func(p *patient, table *string) {
		p.Helper()
		if _, err := p.client.UpdateTable(p.Context(), &dynamodb.UpdateTableInput{TableName: table, DeletionProtectionEnabled: aws.Bool(false)}); err != nil {
			p.Fatal(err)
		}
	}
	remove := func(p *patient, table *string) {
		p.Helper()
		unprotect(p, table)
		if _, err := p.client.DeleteTable(p.Context(), &dynamodb.DeleteTableInput{TableName: table}); err != nil {
			p.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		breaks func(p *patient)
		want   []string
	}{
		"no snapshot table":            {func(p *patient) { remove(p, snapshots) }, []string{"error table.snapshots"}},
		"no projections table":         {func(p *patient) { remove(p, aws.String(projections)) }, []string{"error table.projections"}},
		"the journal is not protected": {func(p *patient) { unprotect(p, journal) }, []string{"warn protection.journal"}},
		"items do not expire": {func(p *patient) {
			_, err := p.client.UpdateTimeToLive(p.Context(), &dynamodb.UpdateTimeToLiveInput{
				TableName: journal, TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String("expires"), Enabled: aws.Bool(false)},
			})
			if err != nil {
				p.Fatal(err)
			}
		}, []string{"warn ttl.journal"}},
		"no header": {func(p *patient) {
			_, err := p.client.DeleteItem(p.Context(), &dynamodb.DeleteItemInput{TableName: journal, Key: map[string]types.AttributeValue{
				"par": &types.AttributeValueMemberS{Value: "journal-META"}, "num": &types.AttributeValueMemberN{Value: "0"},
			}})
			if err != nil {
				p.Fatal(err)
			}
		}, []string{"error header", "unknown perm.PartiQLInsert.journal"}},
		"group commit is denied": {func(p *patient) {
			p.inject(embedded.Fault{Effect: embedded.EffectAccessDenied, Operation: "ExecuteStatement"})
		}, []string{"warn perm.PartiQLInsert.journal"}},
		"records are denied": {func(p *patient) {
			p.inject(embedded.Fault{Effect: embedded.EffectAccessDenied, Operation: "GetRecords"})
		}, []string{"error perm.GetRecords.journal"}},
		"the stream can't be described": {func(p *patient) {
			p.inject(embedded.Fault{Effect: embedded.EffectAccessDenied, Operation: "DescribeStream"})
		}, []string{"error perm.DescribeStream.journal"}},
		"offsets are ahead": {func(p *patient) { p.handleAndForget() }, []string{"error restore.offsets", "warn projection.group/all"}},
		"another journal":   {func(p *patient) { p.config.SequenceShards = 7 }, []string{"error header"}},
		"no stream": {func(p *patient) {
			_, err := p.client.UpdateTable(p.Context(), &dynamodb.UpdateTableInput{
				TableName: journal, StreamSpecification: &types.StreamSpecification{StreamEnabled: aws.Bool(false)},
			})
			if err != nil {
				p.Fatal(err)
			}
		}, []string{"error stream"}},
		"writes are denied": {func(p *patient) {
			p.inject(embedded.Fault{Effect: embedded.EffectAccessDenied, Operation: "PutItem"})
		}, []string{"error perm.PutItem.journal", "error perm.PutItem.projections", "error perm.PutItem.snapshots"}},
		"updates are denied": {func(p *patient) {
			p.inject(embedded.Fault{Effect: embedded.EffectAccessDenied, Operation: "UpdateItem"})
		}, []string{"error perm.UpdateItem.projections"}},
		"descriptions are denied": {func(p *patient) {
			p.inject(embedded.Fault{Effect: embedded.EffectAccessDenied, Operation: "DescribeTable"})
		}, []string{
			"unknown restore.offsets", "unknown restore.snapshots", "unknown table.journal", "unknown table.projections", "unknown table.snapshots",
		}},
		"the credentials have expired": {func(p *patient) {
			p.config.AWS.HTTPClient = clientFunc(func(*http.Request) (*http.Response, error) {
				return respond(`{"__type":"com.amazon.coral.service#ExpiredTokenException","message":"The security token is expired"}`), nil
			})
		}, []string{"unknown"}},
		"a table is being deleted": {func(p *patient) {
			inner := p.config.AWS.HTTPClient
			p.config.AWS.HTTPClient = clientFunc(func(r *http.Request) (*http.Response, error) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					return nil, err
				}
				if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".DescribeTable") && bytes.Contains(body, []byte(dynajournal.DefaultSnapshotTable)) {
					response := respond(`{"Table":{"TableName":"` + dynajournal.DefaultSnapshotTable + `","TableStatus":"DELETING"}}`)
					response.StatusCode = http.StatusOK
					return response, nil
				}
				r.Body = io.NopCloser(bytes.NewReader(body))
				return inner.Do(r)
			})
		}, []string{"error table.snapshots", "warn protection.snapshots"}},
		"a snapshot is ahead": {func(p *patient) {
			p.with(func(j *dynajournal.Journal) {
				metadata := dynajournal.SnapshotMetadata{PersistenceID: "a", SequenceNumber: 9}
				if _, err := j.SaveSnapshot(p.Context(), metadata, "state"); err != nil {
					p.Fatal(err)
				}
			})
		}, []string{"error restore.snapshots"}},
		"an index that nobody knows": {func(p *patient) {
			_, err := p.client.UpdateTable(p.Context(), &dynamodb.UpdateTableInput{
				TableName: snapshots, AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("mine"), AttributeType: "S"}},
				GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{Create: &types.CreateGlobalSecondaryIndexAction{
					IndexName: aws.String("mine"), Projection: &types.Projection{ProjectionType: "KEYS_ONLY"},
					KeySchema: []types.KeySchemaElement{{AttributeName: aws.String("mine"), KeyType: "HASH"}},
				}}},
			})
			if err != nil {
				p.Fatal(err)
			}
			for ready := false; !ready; {
				out, err := p.client.DescribeTable(p.Context(), &dynamodb.DescribeTableInput{TableName: snapshots})
				if err != nil {
					p.Fatal(err)
				}
				ready = out.Table.TableStatus == types.TableStatusActive
			}
		}, []string{"warn index.extra.snapshots"}},
		"reads are denied": {func(p *patient) {
			p.inject(embedded.Fault{Effect: embedded.EffectAccessDenied, Operation: "GetItem"})
		}, []string{"error perm.GetItem.journal", "error perm.GetItem.projections", "error perm.GetItem.snapshots", "unknown header", "unknown perm.PartiQLInsert.journal"}},
		"reads are slow": {func(p *patient) {
			p.inject(embedded.Fault{Effect: embedded.EffectSlow, Operation: "GetItem", Delay: 30 * time.Millisecond, Applied: true})
		}, []string{"warn latency"}},
		"replicas": {func(p *patient) {
			_, err := p.client.UpdateTable(p.Context(), &dynamodb.UpdateTableInput{
				TableName: snapshots, ReplicaUpdates: []types.ReplicationGroupUpdate{{
					Create: &types.CreateReplicationGroupMemberAction{RegionName: aws.String("eu-west-1")},
				}},
			})
			if err != nil {
				p.Fatal(err)
			}
		}, []string{"warn replicas.snapshots"}},
		"a wrong setting": {func(p *patient) { p.config.SnapshotTable = dynajournal.DefaultJournalTable }, []string{"error config"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPatient(t, dynajournal.TableOptions{})
			c.breaks(p)
			if c.want[0] == "unknown" { // every check that is made
				wrong, all := p.wrong(everyRole)
				for i, name := range wrong {
					if name != "unknown perm.PartiQLInsert.journal" && (!strings.HasPrefix(name, "unknown ") || !strings.Contains(all[i].Found, "expired") || all[i].Needs != "") {
						t.Errorf("%+v does not name the credentials", all[i])
					}
				}
				return
			}
			p.want(everyRole, c.want...)
		})
	}
}

// handleAndForget lets a projection handle two events of a persistence id, and then removes the
// second event, as an older copy of the journal table does not have it.
func (p *patient) handleAndForget() {
	p.Helper()
	p.with(func(j *dynajournal.Journal) {
		w, err := j.Recover(p.Context(), "b", dynajournal.RecoverOptions{}, nil)
		if err != nil {
			p.Fatal(err)
		}
		if _, err := w.AppendEach(p.Context(), "x", "y"); err != nil {
			p.Fatal(err)
		}
		group, err := projection.New(j, projection.Config{Name: "group"}, projection.AtLeastOnce("all",
			projection.HandlerFunc(func(context.Context, dynajournal.Event) error { return nil })))
		if err != nil {
			p.Fatal(err)
		}
		ctx, stop := context.WithCancel(p.Context())
		ended := make(chan error, 1)
		go func() { ended <- group.Run(ctx) }()
		if err := projection.WaitFor(p.Context(), j, "group/all", "b", 2); err != nil {
			p.Error(err)
		}
		stop()
		if err := <-ended; err != nil {
			p.Error(err)
		}
	})
	if _, err := p.client.DeleteItem(p.Context(), &dynamodb.DeleteItemInput{
		TableName: aws.String(dynajournal.DefaultJournalTable), Key: map[string]types.AttributeValue{
			"par": &types.AttributeValueMemberS{Value: "journal-P-b-0"}, "num": &types.AttributeValueMemberN{Value: "2"},
		},
	}); err != nil {
		p.Fatal(err)
	}
}

// Tables of another Region are found before anything is advised to be created.
func TestRun_TablesOfAnotherRegion(t *testing.T) {
	p, empty := newPatient(t, dynajournal.TableOptions{}), newPatient(t, dynajournal.TableOptions{})
	if _, err := dynajournal.DeleteTables(t.Context(), empty.unprotected()); err != nil {
		t.Fatal(err)
	}
	// One endpoint for both Regions: the signature has the Region.
	there, here := p.config.AWS.HTTPClient, empty.config.AWS.HTTPClient
	p.config.AWS.Region = "us-east-1"
	p.config.AWS.HTTPClient = clientFunc(func(r *http.Request) (*http.Response, error) {
		if strings.Contains(r.Header.Get("Authorization"), "/eu-west-1/") {
			return there.Do(r)
		}
		return here.Do(r)
	})
	all := p.want(doctor.Options{Regions: []string{"us-east-1", "eu-west-1"}}, "error table.journal", "error table.snapshots")
	if !strings.Contains(all[0].Fix, "eu-west-1") || strings.Contains(all[0].Fix, "tables create") {
		t.Errorf("the advice is %q", all[0].Fix)
	}
	all = p.want(doctor.Options{}, "error table.journal", "error table.snapshots")
	if !strings.Contains(all[0].Fix, "tables create") || !strings.Contains(all[0].Found, "us-east-1") {
		t.Errorf("the check is %+v", all[0])
	}
}

// unprotected disables the protection of all tables, and returns the configuration.
func (p *patient) unprotected() dynajournal.Config {
	p.Helper()
	for _, table := range []string{dynajournal.DefaultJournalTable, dynajournal.DefaultSnapshotTable, projections} {
		if _, err := p.client.UpdateTable(p.Context(), &dynamodb.UpdateTableInput{TableName: &table, DeletionProtectionEnabled: aws.Bool(false)}); err != nil {
			p.Fatal(err)
		}
	}
	return p.config
}

// respond returns a response of DynamoDB with the status 400.
func respond(body string) *http.Response {
	return &http.Response{
		StatusCode: http.StatusBadRequest, Body: io.NopCloser(strings.NewReader(body)), ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{
			"Content-Type": {"application/x-amz-json-1.0"}, "X-Amz-Crc32": {fmt.Sprint(crc32.ChecksumIEEE([]byte(body)))},
			"X-Amzn-Requestid": {"ID"}, "Date": {time.Now().UTC().Format(http.TimeFormat)},
		},
	}
}

type clientFunc func(*http.Request) (*http.Response, error)

func (f clientFunc) Do(r *http.Request) (*http.Response, error) { return f(r) }

// A service that does not answer makes checks unknown, and does not block them for long.
func TestRun_WrongClock(t *testing.T) {
	for ahead, status := range map[time.Duration]string{2 * time.Minute: "warn", time.Hour: "error"} {
		t.Run(ahead.String(), func(t *testing.T) {
			p := newPatient(t, dynajournal.TableOptions{})
			inner := p.config.AWS.HTTPClient
			p.config.AWS.HTTPClient = clientFunc(func(r *http.Request) (*http.Response, error) {
				response, err := inner.Do(r)
				if err == nil {
					response.Header.Set("Date", time.Now().Add(ahead).UTC().Format(http.TimeFormat))
				}
				return response, err
			})
			p.want(doctor.Options{}, status+" clock")
		})
	}
}

func TestRun_ProvisionedIndex(t *testing.T) {
	p := newPatient(t, dynajournal.TableOptions{ReadUnits: 10, WriteUnits: 10})
	_, err := p.client.UpdateTable(t.Context(), &dynamodb.UpdateTableInput{
		TableName: aws.String(dynajournal.DefaultJournalTable),
		GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{Update: &types.UpdateGlobalSecondaryIndexAction{
			IndexName: aws.String("ids-idx"), ProvisionedThroughput: &types.ProvisionedThroughput{ReadCapacityUnits: aws.Int64(10), WriteCapacityUnits: aws.Int64(5)},
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	wrong, all := p.wrong(doctor.Options{})
	if !slices.Contains(wrong, "warn capacity.journal") {
		t.Errorf("the doctor finds %q: %+v", wrong, all)
	}
}

func TestRun_NoAnswer(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	defer close(release)
	p := newPatient(t, dynajournal.TableOptions{})
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	p.config.AWS.HTTPClient, p.config.Endpoint = &http.Client{Transport: transport}, server.URL
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	all := doctor.Run(ctx, p.config, everyRole)
	for _, c := range all {
		if c.Status != doctor.StatusUnknown {
			t.Errorf("the doctor finds %+v", c)
		}
	}
}
