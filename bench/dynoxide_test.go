package bench_test

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/dynajournal/dynajournal/internal/dynoxide"
)

// The bodies of the requests are assembled as text, because the SDK would take longer than the
// engines.

func appendKey(dst []byte, pk, sk int64) []byte {
	return fmt.Appendf(dst, `"pk":{"S":"entity-%08d"},"sk":{"N":"%d"}`, pk, sk)
}

// appendItem appends an item of about itemBytes.
func appendItem(dst []byte, pk, sk int64) []byte {
	dst = append(appendKey(append(dst, '{'), pk, sk), `,"payload":{"S":"`...)
	return append(append(dst, payload...), `"}}`...)
}

// appendList appends n elements with commas between them.
func appendList(dst []byte, n int64, element func(dst []byte, i int64) []byte) []byte {
	for i := range n {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = element(dst, i)
	}
	return dst
}

func appendPuts(dst []byte, n, pk, sk int64) []byte {
	dst = appendList(append(dst, `{"RequestItems":{"`+tableName+`":[`...), n, func(dst []byte, i int64) []byte {
		return append(appendItem(append(dst, `{"PutRequest":{"Item":`...), pk, sk+i), `}}`...)
	})
	return append(dst, `]}}`...)
}

func appendTransaction(dst []byte, n, pk, sk int64) []byte {
	dst = appendList(append(dst, `{"TransactItems":[`...), n, func(dst []byte, i int64) []byte {
		return append(appendItem(append(dst, `{"Put":{"TableName":"`+tableName+`","Item":`...), pk, sk+i), `}}`...)
	})
	return append(dst, `]}`...)
}

func appendInserts(dst []byte, n, pk, sk int64) []byte {
	const text = `{"Statement":"INSERT INTO \"` + tableName + `\" VALUE {'pk':?,'sk':?,'payload':?}","Parameters":[`
	dst = appendList(append(dst, `{"Statements":[`...), n, func(dst []byte, i int64) []byte {
		dst = fmt.Appendf(append(dst, text...), `{"S":"entity-%08d"},{"N":"%d"},{"S":"`, pk, sk+i)
		return append(append(dst, payload...), `"}]}`...)
	})
	return append(dst, `]}`...)
}

const (
	// partitions is the number of partition keys that are written and read.
	partitions = 1000
	// transacted is the number of items that one TransactWriteItems puts.
	transacted = 10
)

// The sort keys of each operation start at a different number, so that all written items are new.
const (
	putsFrom = (iota + 1) << 32
	batchesFrom
	transactionsFrom
	insertsFrom
)

// operations lists the operations that are compared.
var operations = []struct {
	name string
	// body appends the body of request number n.
	body func(dst []byte, n int64) []byte
	// right reports whether the response to a request is correct.
	right func([]byte) bool
}{
	{"PutItem", func(dst []byte, n int64) []byte {
		return append(appendItem(append(dst, `{"TableName":"`+tableName+`","Item":`...), n%partitions, putsFrom+n), '}')
	}, with("{}")},
	{"GetItem", func(dst []byte, n int64) []byte {
		return append(appendKey(append(dst, `{"TableName":"`+tableName+`","Key":{`...), n%partitions, n%queried), `}}`...)
	}, with(`"payload"`)},
	{"Query", func(dst []byte, n int64) []byte {
		dst = append(dst, `{"TableName":"`+tableName+`","KeyConditionExpression":"pk = :p AND sk < :s","ExpressionAttributeValues":`...)
		return fmt.Appendf(dst, `{":p":{"S":"entity-%08d"},":s":{"N":"%d"}}}`, n%partitions, queried)
	}, with(`"Count":` + strconv.Itoa(queried))},
	{"BatchWriteItem", func(dst []byte, n int64) []byte {
		return appendPuts(dst, statements, n%partitions, batchesFrom+n*statements)
	}, with(`"UnprocessedItems":{}`)},
	{"TransactWriteItems", func(dst []byte, n int64) []byte {
		return appendTransaction(dst, transacted, n%partitions, transactionsFrom+n*transacted)
	}, with("{}")},
	{"BatchExecuteStatement", func(dst []byte, n int64) []byte {
		return appendInserts(dst, statements, n%partitions, insertsFrom+n*statements)
	}, func(answer []byte) bool { return !bytes.Contains(answer, []byte(`"Error"`)) }},
}

// with returns a function that reports whether a response contains the text.
func with(text string) func([]byte) bool {
	return func(answer []byte) bool { return bytes.Contains(answer, []byte(text)) }
}

// fill creates the table, with queried items in each partition.
func (w *wire) fill(b *testing.B) {
	b.Helper()
	const create = `{"TableName":"` + tableName + `","BillingMode":"PAY_PER_REQUEST","KeySchema":[` +
		`{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],"AttributeDefinitions":[` +
		`{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"N"}]}`
	err := w.ask(b.Context(), "CreateTable", func(dst []byte) []byte { return append(dst, create...) }, with("TableDescription"))
	for n := int64(0); n < partitions*queried && err == nil; n += statements {
		err = w.ask(b.Context(), "BatchWriteItem", func(dst []byte) []byte {
			return appendPuts(dst, statements, n/queried, n%queried)
		}, with(`"UnprocessedItems":{}`))
	}
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkBesideDynoxide compares the engine with dynoxide. Both are in memory and in separate
// processes, and get the same requests on the same number of connections.
func BenchmarkBesideDynoxide(b *testing.B) {
	binary := dynoxide.Find(b)
	ours, theirs := connectWire(b, aws.ToString(aside(b).BaseEndpoint)), connectWire(b, dynoxide.Serve(b, binary))
	ours.fill(b)
	theirs.fill(b)
	for _, op := range operations {
		// The numbers continue after the requests of the benchmarks before, so that all written
		// items are new.
		next := map[*wire]int64{}
		do := func(w *wire) func(context.Context, int64) error {
			return func(ctx context.Context, n int64) error {
				n += next[w]
				return w.ask(ctx, op.name, func(dst []byte) []byte { return op.body(dst, n) }, op.right)
			}
		}
		for _, n := range []int{1, 16, callers} {
			b.Run(fmt.Sprintf("%s/%d", op.name, n), func(b *testing.B) {
				first := &candidate{name: "engine", do: do(ours), items: 1}
				second := &candidate{name: "dynoxide", do: do(theirs), items: 1}
				compareTwo(b, n, first, second)
				next[ours] += first.done
				next[theirs] += second.done
			})
		}
	}
}
