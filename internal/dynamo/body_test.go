package dynamo_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// The SDK closes the body of a request as soon as the response headers arrive, and WriteTo of its
// closed body returns io.EOF. After a body larger than its buffer, net/http calls WriteTo once
// more, to see whether there is more. If the response arrives before this call, net/http considers
// the request broken and closes the connection. quickServer makes every response that fast.

// quickServer is an HTTP client on a connection that responds as soon as it has the last byte of a
// request. It lets the sender continue only when the SDK has closed the body of the request.
type quickServer struct {
	// writeErr is the error of sending the last request.
	writeErr error
	conn     *quickConn
}

// writes returns the number of writes of the last request.
func (q *quickServer) writes() int { return int(q.conn.writes.Load()) }

// Do sends one request over its own connection.
func (q *quickServer) Do(r *http.Request) (*http.Response, error) {
	conn := newQuickConn()
	q.conn = conn
	transport := &http.Transport{
		DialContext:       func(context.Context, string, string) (net.Conn, error) { return conn, nil },
		DisableKeepAlives: true,
	}
	written := make(chan struct{})
	trace := &httptrace.ClientTrace{WroteRequest: func(info httptrace.WroteRequestInfo) {
		q.writeErr = info.Err
		close(written)
	}}
	response, err := transport.RoundTrip(r.WithContext(httptrace.WithClientTrace(r.Context(), trace)))
	if err != nil {
		return nil, err
	}
	response.Body = &responseBody{ReadCloser: response.Body, start: func() {
		close(conn.release)
		<-written
		if q.writeErr != nil {
			<-conn.closed
		}
	}}
	return response, nil
}

// responseBody calls start before its first read. The SDK reads it after it has closed the request.
type responseBody struct {
	io.ReadCloser

	once  sync.Once
	start func()
}

func (b *responseBody) Read(p []byte) (int, error) {
	b.once.Do(b.start)
	return b.ReadCloser.Read(p)
}

// quickConn is a connection to a server that serves one request.
type quickConn struct {
	net.Conn // only the methods that net/http calls

	request bytes.Buffer
	writes  atomic.Int32
	// response is written as soon as the request has arrived.
	response      *io.PipeReader
	responseWrite *io.PipeWriter
	release       chan struct{}
	closing       sync.Once
	closed        chan struct{}
}

func newQuickConn() *quickConn {
	c := &quickConn{release: make(chan struct{}), closed: make(chan struct{})}
	c.response, c.responseWrite = io.Pipe()
	return c
}

// Write receives a part of the request. After the last part it responds, and waits for release.
func (c *quickConn) Write(p []byte) (int, error) {
	c.writes.Add(1)
	c.request.Write(p)
	request, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(c.request.Bytes())))
	if err == nil {
		_, err = io.Copy(io.Discard, request.Body)
	}
	if err != nil { // there is more to come
		return len(p), nil
	}
	go func() {
		_, _ = io.WriteString(c.responseWrite, "HTTP/1.1 200 OK\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: 2\r\n\r\n")
		_, _ = io.WriteString(c.responseWrite, "{}")
	}()
	<-c.release
	return len(p), nil
}

func (c *quickConn) Read(p []byte) (int, error) { return c.response.Read(p) }

func (c *quickConn) Close() error {
	c.closing.Do(func() {
		_ = c.responseWrite.CloseWithError(net.ErrClosed)
		close(c.closed)
	})
	return nil
}

// big returns an item whose request is larger than net/http's buffer of 4 KB.
func big() dynamo.Attributes {
	item := key(1)
	item["event"] = &types.AttributeValueMemberB{Value: make([]byte, 8<<10)}
	return item
}

func TestPut_ResponseBeforeRequestIsSent(t *testing.T) {
	q := &quickServer{}
	c := newClient(t, options(q, func(o *dynamo.Options) { o.Retries = 0 }))
	if err := c.Put(t.Context(), &dynamo.Meter{}, dynamo.Put{Table: table, Item: big()}); err != nil {
		t.Error(err)
	}
	if q.writeErr != nil {
		t.Errorf("the request's end: %v", q.writeErr)
	}
}

func TestSmallRequestIsOneWrite(t *testing.T) {
	q := &quickServer{}
	if err := put(t, newClient(t, options(q))); err != nil || q.writes() != 1 {
		t.Errorf("%d writes, error %v; want one", q.writes(), err)
	}
	bare := dynamodb.NewFromConfig(options(q).AWS, func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
	_, err := bare.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(table), Item: key(1)})
	if q.writes() != 2 { // it fails at times, as below
		t.Errorf("the bare SDK: %d writes, error %v; want 2, otherwise ownBodies is no longer needed for this reason", q.writes(), err)
	}
}

// If this test fails, the SDK has changed, and ownBody is no longer needed.
func TestBareSDK_ResponseBeforeRequestIsSent(t *testing.T) {
	q := &quickServer{}
	bare := dynamodb.NewFromConfig(options(q).AWS, func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
	_, err := bare.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(table), Item: big()})
	if !errors.Is(err, net.ErrClosed) || !errors.Is(q.writeErr, io.EOF) {
		t.Errorf("error %v; the request's end: %v", err, q.writeErr)
	}
}

func TestBodyArrivesWhole(t *testing.T) {
	var got int
	s := newScript(func(r *http.Request) (*http.Response, error) {
		n, err := io.Copy(io.Discard, r.Body)
		got = int(n)
		if int64(got) != r.ContentLength {
			t.Errorf("%d bytes, %d announced", got, r.ContentLength)
		}
		if err != nil {
			return nil, err
		}
		return ok(`{}`)(r)
	})
	c := newClient(t, options(rawScript{s}))
	if err := c.Put(t.Context(), &dynamo.Meter{}, dynamo.Put{Table: table, Item: big()}); err != nil || got < 8<<10 {
		t.Errorf("%d bytes, error %v", got, err)
	}
}
