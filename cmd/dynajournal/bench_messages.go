package main

import (
	"io"
	"os"
	"sync"
)

// sharedWriter serializes the messages of several processes.
type sharedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

// shared returns a writer that several processes may write to at the same time. A file already
// allows that.
func shared(w io.Writer) io.Writer {
	if _, isFile := w.(*os.File); isFile {
		return w
	}
	return &sharedWriter{w: w}
}

// Write writes a message.
func (s *sharedWriter) Write(message []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(message)
}
