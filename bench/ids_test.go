package bench_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
)

const (
	idsListed = 10_000
	// nativeShards is the number of shards of a native journal's ids index.
	nativeShards = 8
)

// readUnits is a hook that adds up the read units of requests.
type readUnits struct {
	mu    sync.Mutex
	units float64
}

// OnRequest counts a request.
func (r *readUnits) OnRequest(_ context.Context, request dynajournal.Request) {
	r.add(request.Cost.ReadUnits)
}

func (r *readUnits) add(units float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.units += units
}

// BenchmarkIDs lists 10,000 persistence ids, alternately with the library and with plain Queries of
// the same pages, all keys of the index at once. It reports the listed ids per second and the read
// units per thousand ids, both also for the Queries, and the ratio of the speeds, which should be
// at least 0.8.
func BenchmarkIDs(b *testing.B) {
	for name, options := range map[string]dynajournal.TableOptions{"native": {}, "shared": {SharedWithJVM: true}} {
		b.Run(name, func(b *testing.B) {
			config := filled(b, options)
			client := dynamodb.NewFromConfig(config.AWS)
			var library, bare readUnits
			config.Hooks = []dynajournal.Hook{{OnRequest: library.OnRequest}}
			j, err := dynajournal.Open(b.Context(), config)
			if err != nil {
				b.Fatal(err)
			}
			defer func() {
				if err := j.Close(); err != nil {
					b.Error(err)
				}
			}()
			library.units = 0
			var took, bareTook time.Duration
			for b.Loop() {
				start := time.Now()
				listAll(b, j)
				between := time.Now()
				readAll(b, client, options, &bare)
				took, bareTook = took+between.Sub(start), bareTook+time.Since(between)
			}
			const thousand = 1000
			listed := float64(b.N) * idsListed
			b.ReportMetric(0, "ns/op") // the total time of both is meaningless
			b.ReportMetric(listed/took.Seconds(), "ids/s")
			b.ReportMetric(listed/bareTook.Seconds(), "bare-ids/s")
			b.ReportMetric(bareTook.Seconds()/took.Seconds(), "ratio")
			b.ReportMetric(library.units/listed*thousand, "RCU/1000")
			b.ReportMetric(bare.units/listed*thousand, "bare-RCU/1000")
		})
	}
}

func listAll(b *testing.B, j *dynajournal.Journal) {
	b.Helper()
	n := 0
	for _, err := range j.CurrentPersistenceIDs(b.Context(), dynajournal.IDsOptions{}) {
		if err != nil {
			b.Fatal(err)
		}
		n++
	}
	if n != idsListed {
		b.Fatalf("listed %d ids", n)
	}
}

// readAll reads all pages of the index that the library reads, and ignores their content.
func readAll(b *testing.B, client *dynamodb.Client, options dynajournal.TableOptions, cost *readUnits) {
	b.Helper()
	index, attribute, keys := "ids-idx", "ids_shard", nativeShards
	if options.SharedWithJVM { // first events, then low marks
		index, attribute, keys = dynajournal.DefaultIDsIndexName, "num", 2
	}
	var items atomic.Int64
	var group sync.WaitGroup
	for key := range keys {
		group.Go(func() {
			in := &dynamodb.QueryInput{
				TableName:                 aws.String(dynajournal.DefaultJournalTable),
				IndexName:                 &index,
				KeyConditionExpression:    aws.String(attribute + " = :k"),
				ExpressionAttributeValues: map[string]types.AttributeValue{":k": &types.AttributeValueMemberN{Value: strconv.Itoa(key)}},
				ReturnConsumedCapacity:    types.ReturnConsumedCapacityTotal,
			}
			for {
				out, err := client.Query(b.Context(), in)
				if err != nil {
					b.Error(err)
					return
				}
				cost.add(aws.ToFloat64(out.ConsumedCapacity.CapacityUnits))
				items.Add(int64(len(out.Items)))
				if in.ExclusiveStartKey = out.LastEvaluatedKey; in.ExclusiveStartKey == nil {
					return
				}
			}
		})
	}
	if group.Wait(); items.Load() < idsListed {
		b.Fatalf("read %d entries", items.Load())
	}
}

// filled creates a journal with persistence ids of one event each.
func filled(b *testing.B, options dynajournal.TableOptions) dynajournal.Config {
	b.Helper()
	engine, err := embedded.OpenMemory()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := engine.Close(); err != nil {
			b.Error(err)
		}
	})
	config := dynajournal.Config{AWS: engine.AWSConfig()}
	if err := dynajournal.CreateTables(b.Context(), config, options); err != nil {
		b.Fatal(err)
	}
	j, err := dynajournal.Open(b.Context(), config)
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := j.Close(); err != nil {
			b.Error(err)
		}
	}()
	for i := range idsListed {
		w, err := j.Recover(b.Context(), fmt.Sprintf("entity-%d", i), dynajournal.RecoverOptions{}, nil)
		if err == nil {
			_, err = w.Append(b.Context(), "first")
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	return config
}
