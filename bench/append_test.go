package bench_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/testsize"
)

// asServer is the environment variable that makes this program a server, so that the processor time
// of the clients does not include the server's.
const asServer = "DYNAJOURNAL_BENCH_SERVE"

// farAway is the environment variable with a delay that the server adds to every response, for
// example 3ms, to simulate a remote server.
const farAway = "DYNAJOURNAL_BENCH_DELAY"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) == "" {
		testsize.RelaxCollector()
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := serveMemory(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// serveMemory serves an engine in memory, and prints its address.
func serveMemory(ctx context.Context) error {
	far, err := time.ParseDuration(os.Getenv(farAway) + "0ms")
	if err != nil {
		return err
	}
	var opts []embedded.Option
	if far > 0 {
		opts = append(opts, embedded.WithFaults(embedded.Fault{Effect: embedded.EffectSlow, Delay: far}))
	}
	engine, err := embedded.OpenMemory(opts...)
	if err != nil {
		return err
	}
	defer engine.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("http://" + listener.Addr().String())
	return engine.Serve(ctx, listener)
}

// aside returns the configuration of an engine that another process serves.
func aside(b *testing.B) aws.Config {
	b.Helper()
	server := exec.Command(os.Args[0])
	server.Env = append(os.Environ(), asServer+"=1")
	server.Stderr = os.Stderr
	out, err := server.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := server.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = server.Process.Signal(os.Interrupt)
		_ = server.Wait()
	})
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return aws.Config{
		Region:       "us-east-1",
		BaseEndpoint: aws.String(strings.TrimSpace(url)),
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "bench", SecretAccessKey: "bench"}, nil
		}),
	}
}

// persister is an implementation that persists events, with its measurements.
type persister struct {
	name string
	// write returns a function that persists the next events of an entity.
	write func(entity int) func(context.Context) error
	// events is the number of events that one call persists.
	events int

	entities  []func(context.Context) error
	latencies []time.Duration
	calls     int
	spent     time.Duration
	cpu       time.Duration
	allocs    uint64
}

// run divides a number of calls among the entities. Each entity makes its calls one after the
// other.
func (p *persister) run(b *testing.B, calls int) {
	b.Helper()
	each := max(calls/len(p.entities), 1)
	latencies := make([][]time.Duration, len(p.entities))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu, start := clientCPU(b), time.Now()
	var all sync.WaitGroup
	for i, write := range p.entities {
		all.Go(func() {
			latencies[i] = make([]time.Duration, 0, each)
			for range each {
				sent := time.Now()
				if err := write(b.Context()); err != nil {
					b.Error(err)
					return
				}
				latencies[i] = append(latencies[i], time.Since(sent))
			}
		})
	}
	all.Wait()
	p.spent += time.Since(start)
	p.cpu += clientCPU(b) - cpu
	runtime.ReadMemStats(&after)
	p.allocs += after.Mallocs - before.Mallocs
	p.calls += each * len(p.entities)
	p.latencies = append(p.latencies, slices.Concat(latencies...)...)
}

// clientCPU returns the processor time of this process, which does not include the server's.
func clientCPU(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func (p *persister) report(b *testing.B) {
	b.Helper()
	slices.Sort(p.latencies)
	events := float64(p.calls * p.events)
	at := func(q float64) float64 {
		return float64(p.latencies[int(q*float64(len(p.latencies)-1))].Microseconds())
	}
	b.ReportMetric(events/p.spent.Seconds(), p.name+"-events/s")
	b.ReportMetric(at(0.5), p.name+"-p50-µs")
	b.ReportMetric(at(0.99), p.name+"-p99-µs")
	b.ReportMetric(float64(p.cpu.Microseconds())/events, p.name+"-cpu-µs/event")
	b.ReportMetric(float64(p.allocs)/events, p.name+"-allocs/event")
}

// compare alternates the persisters on one server.
func compare(b *testing.B, entities int, all ...*persister) {
	b.Helper()
	for _, p := range all {
		for i := range entities {
			p.entities = append(p.entities, p.write(i))
		}
		p.run(b, 2*entities) // opens connections, and lets the server parse statements
		*p = persister{name: p.name, events: p.events, entities: p.entities}
	}
	perRound := max(2*entities, 500/all[0].events)
	b.ResetTimer()
	for left := b.N; left > 0; left -= perRound {
		for _, p := range all {
			p.run(b, min(perRound, max(left, entities)))
		}
		all = append(all[1:], all[0])
	}
	b.ReportMetric(0, "ns/op")
	for _, p := range all {
		p.report(b)
	}
}

// eventBytes is the payload of an event.
var eventBytes = []byte(strings.Repeat("e", 512))

const benchConnections = 50

// bare puts events under the same condition as the journal, with only the SDK.
func bare(b *testing.B, config aws.Config) *persister {
	b.Helper()
	transport := awshttp.NewBuildableClient().GetTransport()
	transport.MaxConnsPerHost, transport.MaxIdleConns, transport.MaxIdleConnsPerHost = benchConnections, benchConnections, benchConnections
	b.Cleanup(transport.CloseIdleConnections)
	config.HTTPClient = &http.Client{Transport: transport}
	client := dynamodb.NewFromConfig(config)
	return &persister{name: "bare", events: 1, write: func(entity int) func(context.Context) error {
		pid := fmt.Sprintf("bare-%08d", entity)
		seq := 0
		return func(ctx context.Context) error {
			seq++
			_, err := client.PutItem(ctx, &dynamodb.PutItemInput{
				TableName: aws.String(dynajournal.DefaultJournalTable),
				Item: map[string]types.AttributeValue{
					"par": &types.AttributeValueMemberS{Value: "journal-P-" + pid + "-" +
						strconv.Itoa(seq/100)},
					"num":            &types.AttributeValueMemberN{Value: strconv.Itoa(seq % 100)},
					"persistence_id": &types.AttributeValueMemberS{Value: pid},
					"seq":            &types.AttributeValueMemberN{Value: strconv.Itoa(seq)},
					"event":          &types.AttributeValueMemberB{Value: eventBytes},
					"writer_uuid":    &types.AttributeValueMemberS{Value: "8d1a4f2e-4a0f-4c5e-9a39-3e1c0f5ad1b7"},
					"ev_ser_id":      &types.AttributeValueMemberN{Value: "4"},
				},
				ConditionExpression: aws.String("attribute_not_exists(par)"),
			})
			return err
		}
	}}
}

// journal persists events with a journal, as atomic writes of the given size.
func journal(b *testing.B, config aws.Config, name string, events int, groupCommit dynajournal.GroupCommit) *persister {
	b.Helper()
	j, err := dynajournal.Open(b.Context(),
		dynajournal.Config{AWS: config, GroupCommit: groupCommit, MaxConnections: benchConnections})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := j.Close(); err != nil {
			b.Error(err)
		}
	})
	batch := make([]any, events)
	for i := range batch {
		batch[i] = eventBytes
	}
	return &persister{name: name, events: events, write: func(entity int) func(context.Context) error {
		w, err := j.Recover(b.Context(), fmt.Sprintf("%s-%08d", name, entity), dynajournal.RecoverOptions{}, nil)
		if err != nil {
			b.Fatal(err)
		}
		return func(ctx context.Context) error {
			_, err := w.Append(ctx, batch...)
			return err
		}
	}}
}

func persistTables(b *testing.B) aws.Config {
	b.Helper()
	config := aside(b)
	if err := dynajournal.CreateTables(b.Context(), dynajournal.Config{AWS: config},
		dynajournal.TableOptions{}); err != nil {
		b.Fatal(err)
	}
	return config
}

// BenchmarkAppend compares single events of 512 bytes with the SDK's own conditional PutItem: one
// write in flight for each entity, over loopback, the server in another process. A unit of b.N is
// one call of each.
func BenchmarkAppend(b *testing.B) {
	for _, entities := range []int{1, 8, 64, 256, 1024} {
		b.Run(fmt.Sprintf("entities=%d", entities), func(b *testing.B) {
			config := persistTables(b)
			compare(b, entities,
				bare(b, config),
				journal(b, config, "grouped", 1, dynajournal.GroupCommitAuto),
				journal(b, config, "single", 1, dynajournal.GroupCommitOff))
		})
	}
}

// BenchmarkAppendBatch compares atomic writes of ten events with bare puts of ten single events.
func BenchmarkAppendBatch(b *testing.B) {
	for _, entities := range []int{1, 64} {
		b.Run(fmt.Sprintf("entities=%d", entities), func(b *testing.B) {
			config := persistTables(b)
			compare(b, entities,
				bare(b, config),
				journal(b, config, "grouped", 10, dynajournal.GroupCommitAuto),
				journal(b, config, "single", 10, dynajournal.GroupCommitOff))
		})
	}
}
