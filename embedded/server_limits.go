package embedded

import "time"

// serverLimits bound what clients can make a Server hold, and for how long.
type serverLimits struct {
	// connections is how many may be open at once. At the limit an idle one is closed for the next,
	// and without an idle one the next waits.
	connections int
	// memory is how many bytes the large bodies of all requests may take together, and how many
	// their answers: those whose bodies do not arrive so hold up nobody who reads. One request at a
	// time may go beyond each, so that there is always one that gets done.
	memory int64
	// wait is how long a request waits for room in memory before it is answered that the server is
	// busy.
	wait time.Duration
	// header is how long the head of a request may take, idle how long a connection may be unused.
	header, idle time.Duration
	// transfer is how long a body may take to arrive, and an answer to be taken, plus a second for
	// every bytesPerSecond of it.
	transfer       time.Duration
	bytesPerSecond int
	// drain is how long requests under way may take after Serve is told to end.
	drain time.Duration
}

// smallBody is how many bytes of a request's body take no room in the server's memory, as most
// requests are smaller. The limit of connections bounds them.
const smallBody = 32 << 10

// maxHeader is how many bytes the head of a request may have.
const maxHeader = 32 << 10

// defaultServerLimits returns what a Server has. Small bodies and heads take at most 64 MiB each,
// if every connection sends them.
func defaultServerLimits() serverLimits {
	return serverLimits{
		connections: 2048, memory: 128 << 20, wait: 5 * time.Second, header: 10 * time.Second, idle: 5 * time.Minute,
		transfer: 20 * time.Second, bytesPerSecond: 128 << 10, drain: 10 * time.Second,
	}
}

// patience returns how long the transfer of so many bytes may take.
func (l *serverLimits) patience(bytes int) time.Duration {
	return l.transfer + time.Duration(bytes)*time.Second/time.Duration(l.bytesPerSecond)
}
