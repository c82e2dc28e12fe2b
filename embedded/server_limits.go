package embedded

import "time"

// serverLimits limits the resources that clients of a Server can use, and for how long.
type serverLimits struct {
	// connections is the maximum number of open connections. At the limit, the next connection
	// closes an idle one, or waits until one is idle or closed.
	connections int
	// memory limits the bytes of the large bodies of all requests together and, separately, the
	// bytes of all responses. The limits are separate so that bodies that do not arrive don't delay
	// reads. One request at a time may exceed each limit, so that there is always progress.
	memory int64
	// wait is the time that a request waits for memory before it fails with ServiceUnavailable.
	wait time.Duration
	// header limits the time in which the headers of a request must arrive. idle limits the time
	// that a connection can be idle.
	header, idle time.Duration
	// transfer limits the time in which a body must arrive, or a response must be read. Each
	// bytesPerSecond bytes add a second.
	transfer       time.Duration
	bytesPerSecond int
	// drain limits the time that Serve waits for requests in flight when it stops.
	drain time.Duration
}

// smallBody is the number of bytes of a body that need no reservation. Most requests are smaller.
// The limit of connections bounds the memory of small bodies.
const smallBody = 32 << 10

// maxHeader is the size limit of the headers of a request.
const maxHeader = 32 << 10

// defaultServerLimits returns the limits of a Server. Small bodies and headers take at most 64 MiB
// each, if every connection sends them.
func defaultServerLimits() serverLimits {
	return serverLimits{
		connections: 2048, memory: 128 << 20, wait: 5 * time.Second, header: 10 * time.Second, idle: 5 * time.Minute,
		transfer: 20 * time.Second, bytesPerSecond: 128 << 10, drain: 10 * time.Second,
	}
}

// patience returns the time limit for the transfer of a number of bytes.
func (l *serverLimits) patience(bytes int) time.Duration {
	return l.transfer + time.Duration(bytes)*time.Second/time.Duration(l.bytesPerSecond)
}
