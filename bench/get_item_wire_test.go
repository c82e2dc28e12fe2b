package bench_test

import (
	"context"
	"net"
	"testing"
)

// BenchmarkGetItemOverHTTP measures one caller of GetItem, with the server in the same process. The
// client allocates almost nothing, so -benchmem shows the allocations of the server, including
// net/http.
func BenchmarkGetItemOverHTTP(b *testing.B) {
	engine := openTable(b, memory)
	listener, err := (&net.ListenConfig{}).Listen(b.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(b.Context())
	served := make(chan error, 1)
	go func() { served <- engine.Serve(ctx, listener) }()
	b.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			b.Error(err)
		}
	})
	w := connectWire(b, "http://"+listener.Addr().String())
	err = w.ask(b.Context(), "PutItem", func(dst []byte) []byte {
		return append(appendItem(append(dst, `{"TableName":"`+tableName+`","Item":`...), 1, 1), '}')
	}, with("{}"))
	if err != nil {
		b.Fatal(err)
	}
	request := append(appendKey([]byte(`{"TableName":"`+tableName+`","Key":{`), 1, 1), `}}`...)
	body := func(dst []byte) []byte { return append(dst, request...) }
	right := with(`"payload"`)
	before := clientCPU(b)
	b.ResetTimer()
	for range b.N {
		if err := w.ask(b.Context(), "GetItem", body, right); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64((clientCPU(b)-before).Microseconds())/float64(b.N), "cpu-µs/op")
}
