package embedded

import "time"

// serverLimits limit the resources that clients of a Server can use, and for how long.
type serverLimits struct {
	// connections is how many can be open. At the limit the next connection closes an idle one, or
	// waits if there is none.
	connections int
	// memory is how many bytes the large bodies of all requests can take together, and how many
	// their responses. The limits are separate, so that bodies that do not arrive don't delay
	// reads. One request at a time may exceed each limit, so that there is always progress.
	memory int64
	// wait is how long a request waits for memory before it fails with ServiceUnavailable.
	wait time.Duration
	// header is how long the headers of a request can take, and idle how long a connection can be
	// idle.
	header, idle time.Duration
	// transfer is how long a body can take to arrive, and a response to be read, plus a second for
	// every bytesPerSecond.
	transfer       time.Duration
	bytesPerSecond int
	// drain is how long requests in flight can take when serving ends.
	drain time.Duration
}

// smallBody is how many bytes of a body need no reservation. Most requests are smaller. The limit
// of connections bounds their memory.
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

// patience returns how long the transfer of so many bytes can take.
func (l *serverLimits) patience(bytes int) time.Duration {
	return l.transfer + time.Duration(bytes)*time.Second/time.Duration(l.bytesPerSecond)
}
