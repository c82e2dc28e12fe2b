package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Server serves an engine over HTTP. There is no authentication: whoever can reach the listener can
// read and write everything, so let it listen on the loopback interface.
//
// What clients can make it hold is bounded: it has at most 2,048 connections, bodies that are
// larger than 32 KiB take room in a memory of 128 MiB, and answers in another one. Who waits for
// room for 5 seconds is answered ServiceUnavailable, which SDKs try again. The head of a request
// has to arrive within 10 seconds and has at most 32 KiB; a body has to arrive, and an answer has
// to be taken, within 20 seconds and one more for every 128 KiB.
//
// Besides the engine's protocol it answers GET /metrics, in the text format of Prometheus.
//
// The fields must not be changed once Serve was called.
type Server struct {
	// Engine is what is served. It stays open when serving ends.
	Engine *Engine
	// AllowedHosts are names, without port, that requests may have in their Host header, besides
	// localhost and IP addresses. On a loopback address other names are refused, so that no page
	// in a browser gets through by a name that it resolves to this machine (DNS rebinding); there
	// the IP addresses have to be loopback addresses, too. On other addresses every name is
	// answered, unless there are names here.
	AllowedHosts []string
	// AllowedOrigins are the origins, as http://localhost:3000, whose pages may talk to the engine
	// from a browser. They are compared byte for byte. Requests of other pages are refused.
	AllowedOrigins []string
	// Log gets a record for each request: its operation, tables, status, error code, duration and
	// the bytes of both bodies, and never a key, a value or a statement. Nil logs nothing.
	Log *slog.Logger

	// limits are the defaults, unless a test sets them.
	limits *serverLimits
}

// Check returns what is wrong with AllowedHosts and AllowedOrigins, nil if nothing is. Serve checks
// them, too.
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

// Serve serves the engine on the listener as a [Server] without further fields does.
func (e *Engine) Serve(ctx context.Context, listener net.Listener) error {
	return (&Server{Engine: e}).Serve(ctx, listener)
}

// serving is one Serve.
type serving struct {
	*Server

	limits    serverLimits
	hosts     allowedHosts
	origins   allowedOrigins
	open      *connections
	bodies    *requestMemory
	responses *requestMemory
	metrics   *metrics
}

// Serve answers the requests that come in on the listener, which it closes, until ctx ends. Then
// connections without a whole request are closed, requests that hang by a fault end, and those
// under way have 10 seconds to finish. It returns nil if it ended because ctx did. It also ends
// when the engine's storage fails, with an error that matches ErrStorageFailed.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	run, err := s.begin(listener)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	serving, stop := context.WithCancel(ctx)
	server := &http.Server{
		Handler: run, ReadHeaderTimeout: run.limits.header, IdleTimeout: run.limits.idle, MaxHeaderBytes: maxHeader,
		// Requests that hang by a fault end with serving; others are not stopped by it.
		BaseContext: func(net.Listener) context.Context { return serving },
		ConnContext: run.open.connected, ConnState: run.open.follow,
		// What it says is about clients that misbehave, and has stack traces.
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
			slog.Warn("embedded DynamoDB: requests were cut off that took too long to end", "connections", run.open.count())
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

// begin prepares for serving on a listener.
func (s *Server) begin(listener net.Listener) (*serving, error) {
	if s.Engine == nil {
		return nil, errors.New("embedded: the server has no engine")
	}
	if err := s.Check(); err != nil {
		return nil, err
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
	return run, nil
}

// ServeHTTP answers a request of a client that may be slow, hostile or a page in a browser.
func (s *serving) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	started := time.Now()
	defer func() {
		if cause := recover(); cause != nil {
			if cause != http.ErrAbortHandler { //nolint:errorlint // it is a value to panic with, not an error that is wrapped
				slog.Error("embedded DynamoDB: answering a request failed inside", "error", fmt.Sprint("panic: ", cause))
			}
			panic(http.ErrAbortHandler)
		}
	}()
	control := http.NewResponseController(w)
	// They also hold for what is not read here: the server itself reads the rest of a short body,
	// and says that a body may be sent. A connection without deadlines has none to set.
	_ = control.SetReadDeadline(started.Add(s.limits.patience(0)))
	_ = control.SetWriteDeadline(started.Add(s.limits.patience(0)))
	in := &incoming{
		bodyMemory: reservation{memory: s.bodies}, responseMemory: reservation{memory: s.responses}, limits: &s.limits, control: control, started: started, named: s.Log != nil,
	}
	in.connection, _ = request.Context().Value(connectionKey{}).(*connection)
	// The room is given back when the answer has left.
	defer in.bodyMemory.release()
	defer in.responseMemory.release()
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
		// The server reads what is left of a short body before it answers, but waits no longer.
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

// respond returns the answer to a request, nil if it was given already.
func (s *serving) respond(w http.ResponseWriter, request *http.Request, in *incoming) (*response, error) {
	if !s.hosts.allow(request.Host) {
		return refusedResponse(fmt.Errorf("the host %.200q is not allowed: allow it with --allow-host, in Go with Server.AllowedHosts", request.Host)), nil
	}
	if goOn, err := s.origins.admit(w, request); err != nil {
		return refusedResponse(err), nil
	} else if !goOn {
		return nil, nil //nolint:nilnil // as documented
	}
	if request.URL.Path == "/metrics" && (request.Method == http.MethodGet || request.Method == http.MethodHead) {
		s.metrics.handler.ServeHTTP(w, request)
		return nil, nil //nolint:nilnil // as documented
	}
	return s.Engine.respond(request, in)
}

// refusedResponse returns the answer to a request whose body is not even read.
func refusedResponse(cause error) *response {
	response := errorResponse(&apiError{status: http.StatusForbidden, kind: serviceErrors + "AccessDeniedException", message: cause.Error()})
	response.summary.partly = true
	return response
}
