package sqltest_test

import (
	"bytes"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
)

// proxy forwards connections to a server, and cuts them at commits.
type proxy struct {
	listener net.Listener
	socket   string
	// cut, if set, is called for each commit. It reports whether the connection is cut, and whether
	// the server still gets the commit.
	cut func() (cut, applied bool)
	// refuse makes the proxy close new connections at once.
	refuse  atomic.Bool
	running sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]bool
}

// proxy starts a proxy in front of the server.
func (s *server) proxy(t *testing.T, cut func() (cut, applied bool)) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{
		listener: listener, socket: filepath.Join(s.folder, ".s.PGSQL.5432"), cut: cut, conns: map[net.Conn]bool{},
	}
	p.running.Go(p.accept)
	t.Cleanup(func() {
		_ = listener.Close()
		p.mu.Lock()
		for c := range p.conns {
			_ = c.Close()
		}
		p.mu.Unlock()
		p.running.Wait()
	})
	return p
}

// host returns the host that replaces the server's socket in the name of the database.
func (p *proxy) host() string {
	return fmt.Sprintf("host=127.0.0.1 port=%d", p.listener.Addr().(*net.TCPAddr).Port)
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("unix", p.socket)
		if err != nil || p.refuse.Load() {
			_ = client.Close()
			if err == nil {
				_ = server.Close()
			}
			continue
		}
		p.mu.Lock()
		p.conns[client], p.conns[server] = true, true
		p.mu.Unlock()
		var mute atomic.Bool
		end := sync.OnceFunc(func() {
			_ = client.Close()
			_ = server.Close()
		})
		p.running.Go(func() {
			defer end()
			p.send(client, server, &mute)
		})
		p.running.Go(func() {
			defer end()
			answer(server, client, &mute)
		})
	}
}

// send forwards data of the client to the server.
func (p *proxy) send(client, server net.Conn, mute *atomic.Bool) {
	buffer := make([]byte, 1<<16)
	for {
		n, err := client.Read(buffer)
		if err != nil {
			return
		}
		if bytes.Contains(buffer[:n], []byte("commit\x00")) && p.cut != nil {
			if cut, applied := p.cut(); cut {
				if !applied {
					return
				}
				mute.Store(true) // the answer ends the connection
			}
		}
		if _, err := server.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// answer forwards data of the server to the client, until its response is to be lost.
func answer(server, client net.Conn, mute *atomic.Bool) {
	buffer := make([]byte, 1<<16)
	for {
		n, err := server.Read(buffer)
		if err != nil || mute.Load() {
			return
		}
		if _, err := client.Write(buffer[:n]); err != nil {
			return
		}
	}
}
