package network

import (
	"bufio"
	"context"
	"net"
	"time"
)

// bufferSize is the size of a connection's read buffer.
const bufferSize = 32 << 10

// carry carries requests to the service and responses back, one after the other. It returns when
// either side closes the connection, when the connection has reached a limit, or when ctx ends. A
// limit closes the connection only between two requests.
func (p *Proxy) carry(ctx context.Context, client, service net.Conn) {
	fromClient, fromService := bufio.NewReaderSize(client, bufferSize), bufio.NewReaderSize(service, bufferSize)
	most, end := p.limits()
	var buffer []byte
	for n := 0; most == 0 || n < most; n++ {
		// The deadline is for an idle connection. A request that has begun is carried completely.
		if !end.IsZero() && (!time.Now().Before(end) || client.SetReadDeadline(end) != nil) {
			return
		}
		request, err := readMessage(fromClient, buffer[:0], func() { _ = client.SetReadDeadline(time.Time{}) })
		if err != nil {
			return
		}
		buffer = request
		half := p.source.delay(p.options.Delay) / 2
		if !wait(ctx, half) {
			return
		}
		if _, err := service.Write(request); err != nil {
			return
		}
		response, err := readMessage(fromService, buffer[:0], func() {})
		if err != nil {
			return
		}
		buffer = response
		if !wait(ctx, half) {
			return
		}
		p.requests.Add(1)
		if _, err := client.Write(response); err != nil {
			return
		}
	}
}

// limits returns the number of requests and the time after which a new connection is closed. Zero
// means no limit.
func (p *Proxy) limits() (requests int, end time.Time) {
	if p.options.ConnectionRequests > 0 {
		requests = max(1, int(p.source.jitter(float64(p.options.ConnectionRequests))))
	}
	if p.options.ConnectionAge > 0 {
		end = time.Now().Add(time.Duration(p.source.jitter(float64(p.options.ConnectionAge))))
	}
	return requests, end
}
