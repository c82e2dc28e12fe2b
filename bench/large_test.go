package bench_test

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/embedded"
)

const (
	// largeVariable names the environment variable with the number of items of
	// BenchmarkManyItemsInAFolder.
	largeVariable = "DYNAJOURNAL_BENCH_ITEMS"
	// largeMemory is the memory limit of BenchmarkManyItemsInAFolder.
	largeMemory = 1 << 30
)

// BenchmarkManyItemsInAFolder loads items into an engine in a folder and scans them, and fails if
// the process used more than 1 GiB of resident memory at any time. It is run by hand, with
// -benchtime 1x.
func BenchmarkManyItemsInAFolder(b *testing.B) {
	items, err := strconv.ParseInt(os.Getenv(largeVariable), 10, 64)
	if err != nil {
		b.Skipf("skipped: it takes minutes and is run by hand, with the number of items in %s", largeVariable)
	}
	for b.Loop() {
		folder := b.TempDir()
		engine := openTable(b, func() (*embedded.Engine,
			error) {
			return embedded.Open(filepath.Join(folder, "engine"))
		})
		client := dynamodb.NewFromConfig(engine.AWSConfig())
		start := time.Now()
		load(b, client, items)
		loaded := time.Since(start)
		start = time.Now()
		if scanned := scanAll(b, client); scanned != items {
			b.Fatalf("%d items are loaded, %d are scanned", items, scanned)
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(float64(items)/loaded.Seconds(), "loaded/s")
		b.ReportMetric(float64(items)/time.Since(start).Seconds(), "scanned/s")
	}
	peak := peakMemory(b)
	b.ReportMetric(float64(peak)/(1<<20), "MiB-peak")
	if peak > largeMemory {
		b.Errorf("%d MiB of resident memory", peak>>20)
	}
}

// load puts the items in batches, from a few callers.
func load(b *testing.B, client *dynamodb.Client, items int64) {
	b.Helper()
	const loaders, batch = 8, 25
	var group sync.WaitGroup
	for loader := range int64(loaders) {
		group.Go(func() {
			for at := loader * batch; at < items; at += loaders * batch {
				var requests []types.WriteRequest
				for n := at; n < min(at+batch, items); n++ {
					requests = append(requests, types.WriteRequest{PutRequest: &types.PutRequest{Item: item(n)}})
				}
				_, err := client.BatchWriteItem(b.Context(),
					&dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{tableName: requests}})
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	if b.Failed() {
		b.FailNow()
	}
}

// scanAll counts all items, page by page.
func scanAll(b *testing.B, client *dynamodb.Client) int64 {
	b.Helper()
	scan := dynamodb.NewScanPaginator(client, &dynamodb.ScanInput{TableName: aws.String(tableName)})
	total := int64(0)
	for scan.HasMorePages() {
		page, err := scan.NextPage(context.WithoutCancel(b.Context()))
		if err != nil {
			b.Fatal(err)
		}
		total += int64(len(page.Items))
	}
	return total
}

// peakMemory returns the peak resident memory of this process, in bytes.
func peakMemory(b *testing.B) int64 {
	b.Helper()
	file, err := os.Open("/proc/self/status")
	if err != nil {
		b.Skipf("skipped: the system does not tell: %v", err)
	}
	defer func() { _ = file.Close() }() // it was only read
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if kilobytes, is := strings.CutPrefix(lines.Text(), "VmHWM:"); is {
			n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(kilobytes, "kB")), 10, 64)
			if err != nil {
				b.Fatal(err)
			}
			return n << 10
		}
	}
	b.Skip("skipped: the system does not tell the peak of resident memory")
	return 0
}
