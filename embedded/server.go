package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"
)

// Server serves an engine over HTTP. There is no authentication: any client that can reach the
// listener can read and write everything, so use a loopback address.
//
// The resources that clients can use are bounded. There are at most 2,048 connections. Request
// bodies larger than 32 KiB share 128 MiB of memory, and responses share another 128 MiB. A request
// that waits for memory for 5 seconds fails with ServiceUnavailable, which SDKs retry. The headers
// of a request must arrive within 10 seconds and have at most 32 KiB. A body must arrive, and a
// response must be read, within 20 seconds plus one second for every 128 KiB.
//
// Besides the engine's protocol, it serves GET /metrics, in the text format of Prometheus, and
// optionally the faults of the engine (see Control).
//
// The fields must not be changed after Serve is called.
type Server struct {
	// Engine is the engine to serve. Serve does not close it.
	Engine *Engine
	// AllowedHosts are names, without a port, that are accepted in the Host header in addition to
	// localhost and IP addresses. If the listener has a loopback address, other names and IP
	// addresses that are not loopback addresses are refused, so that no page in a browser can reach
	// the engine by a name that resolves to this machine (DNS rebinding). Otherwise, if
	// AllowedHosts is empty, every name is accepted.
	AllowedHosts []string
	// AllowedOrigins are the origins, such as http://localhost:3000, whose pages may send requests
	// from a browser. They are compared byte by byte. Requests of other pages are refused.
	AllowedOrigins []string
	// Control serves the faults of the engine, so that a test in another process or language can
	// change them: GET /control/faults lists them as JSON, POST /control/faults injects the fault
	// whose text (see [ParseFault]) is the body, DELETE /control/faults/ID removes one, and DELETE
	// /control/faults removes all. AllowedHosts and AllowedOrigins apply to these requests as well.
	// If other machines can reach the listener's address, Serve fails.
	Control bool
	// Log records each request: its operation, tables, status, error code, duration and the size of
	// both bodies. It never contains a key, a value or a statement. If Log is nil, nothing is
	// logged.
	Log *slog.Logger

	// limits replaces defaultServerLimits in tests.
	limits *serverLimits
}

// Check returns an error if AllowedHosts or AllowedOrigins is invalid. Serve also calls it.
func (s *Server) Check() error {
	for _, name := range s.AllowedHosts {
		if err := checkHost(name); err != nil {
			return fmt.Errorf("embedded: allowed %w", err)
		}
	}
	for _, origin := range s.AllowedOrigins {
		if err := checkOrigin(origin); err != nil {
			return fmt.Errorf("embedded: allowed %w", err)
		}
	}
	return nil
}

// Serve serves the engine on the listener, like [Server.Serve] of a Server with only the field
// Engine.
func (e *Engine) Serve(ctx context.Context, listener net.Listener) error {
	return (&Server{Engine: e}).Serve(ctx, listener)
}

// serving is the state of one call of Serve.
type serving struct {
	*Server

	limits    serverLimits
	hosts     allowedHosts
	origins   allowedOrigins
	open      *connections
	bodies    *requestMemory
	responses *requestMemory
	metrics   *metrics
	// control serves the faults. It is nil unless Server.Control is set.
	control http.Handler
}

// Serve serves requests on the listener until ctx ends. It then closes the listener and the
// connections without a complete request, ends requests that hang because of a fault, waits up to
// 10 seconds for other requests in flight, and returns nil. Serve also stops when the engine's
// storage fails, and returns an error that matches [ErrStorageFailed].
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	run, err := s.start(listener)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	serving, stop := context.WithCancel(ctx)
	server := &http.Server{
		Handler: run, ReadHeaderTimeout: run.limits.header, IdleTimeout: run.limits.idle, MaxHeaderBytes: maxHeader,
		// Requests that hang because of a fault end with this context. Other requests ignore it.
		BaseContext: func(net.Listener) context.Context { return serving },
		ConnContext: run.open.connected, ConnState: run.open.follow,
		// The messages of http.Server are about misbehaving clients and contain stack traces.
		ErrorLog: slog.NewLogLogger(slog.Default().Handler(), slog.LevelDebug),
	}
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		select {
		case <-serving.Done():
		case <-s.Engine.Failed():
		}
		run.open.drain()
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), run.limits.drain)
		defer cancel()
		if err := server.Shutdown(grace); err != nil {
			slog.Warn("embedded DynamoDB: requests in flight took too long and were cut off", "connections", run.open.count())
			_ = server.Close() // the listener is closed already
		}
	}()
	err = server.Serve(run.open)
	stop()
	<-finished
	if failed := s.Engine.Err(); failed != nil {
		return failed
	}
	if ctx.Err() != nil && errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("embedded: serving: %w", err)
}

// start returns the state for serving on a listener.
func (s *Server) start(listener net.Listener) (*serving, error) {
	if s.Engine == nil {
		return nil, errors.New("embedded: the server has no engine")
	}
	if err := s.Check(); err != nil {
		return nil, err
	}
	if s.Control {
		if err := checkControl(listener.Addr()); err != nil {
			return nil, err
		}
	}
	limits := defaultServerLimits()
	if s.limits != nil {
		limits = *s.limits
	}
	origins, err := allowOrigins(s.AllowedOrigins)
	if err != nil {
		return nil, fmt.Errorf("embedded: %w", err)
	}
	run := &serving{
		Server: s, limits: limits, hosts: allowHosts(listener.Addr(), s.AllowedHosts), origins: origins,
		open: limitConnections(listener, &limits), bodies: newRequestMemory(limits.memory, limits.wait),
		responses: newRequestMemory(limits.memory, limits.wait),
	}
	run.metrics = newMetrics(s.Engine, run.open, run.bodies, run.responses)
	if s.Control {
		run.control = newControl(s.Engine)
	}
	return run, nil
}

// ServeHTTP responds to a request of a client that may be slow, hostile or a page in a browser.
func (s *serving) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	started := time.Now()
	defer func() {
		if cause := recover(); cause != nil {
			if cause != http.ErrAbortHandler { //nolint:errorlint // it is a value to panic with, not an error that is wrapped
				slog.Error("embedded DynamoDB: responding to a request failed with an internal error", "error", fmt.Sprint("panic: ", cause))
			}
			panic(http.ErrAbortHandler)
		}
	}()
	control := http.NewResponseController(w)
	in := &incoming{
		bodyMemory: reservation{memory: s.bodies}, responseMemory: reservation{memory: s.responses},
		limits: &s.limits, control: control, started: started, logTables: s.Log != nil,
	}
	// The deadlines also apply to what the server itself reads and writes: the rest of a short
	// body, and 100 Continue. A connection without deadlines returns an error.
	in.limitReading()
	_ = control.SetWriteDeadline(started.Add(s.limits.patience(0)))
	in.connection, _ = request.Context().Value(connectionKey{}).(*connection)
	defer in.release() // when the response has been sent
	response, err := s.respond(w, request, in)
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	case response == nil:
		return
	}
	defer response.release()
	if response.summary.partly {
		// The server reads the rest of a short body before it responds, for a limited time.
		w.Header().Set("Connection", "close")
		_ = control.SetReadDeadline(time.Now().Add(time.Second))
	}
	_ = control.SetWriteDeadline(time.Now().Add(s.limits.patience(len(response.body))))
	status, sent := response.status, len(response.body)
	defer func() {
		took := time.Since(started)
		s.metrics.request(response.summary, sent, took)
		logRequest(s.Log, response.summary, status, sent, took)
	}()
	s.Engine.send(w, response)
}

// respond returns the response to a request, or nil if it has been sent.
func (s *serving) respond(w http.ResponseWriter, request *http.Request, in *incoming) (*response, error) {
	if !s.hosts.allow(request.Host) {
		return refusedResponse(fmt.Errorf(
			"the host %.200q is not allowed: allow it with --allow-host, in Go with Server.AllowedHosts", request.Host)), nil
	}
	if proceed, err := s.origins.admit(w, request); err != nil {
		return refusedResponse(err), nil
	} else if !proceed {
		return nil, nil //nolint:nilnil // as documented
	}
	if request.URL.Path == "/metrics" && (request.Method == http.MethodGet || request.Method == http.MethodHead) {
		s.metrics.handler.ServeHTTP(w, request)
		return nil, nil //nolint:nilnil // as documented
	}
	if s.control != nil && (request.URL.Path == controlPath || strings.HasPrefix(request.URL.Path, controlPath+"/")) {
		s.control.ServeHTTP(w, request)
		return nil, nil //nolint:nilnil // as documented
	}
	return s.Engine.respond(request, in)
}

// refusedResponse returns the response to a request whose body is not read.
func refusedResponse(cause error) *response {
	response := errorResponse(&apiError{
		status: http.StatusForbidden, kind: serviceErrors + "AccessDeniedException", message: cause.Error(),
	})
	response.summary.partly = true
	return response
}
