package embedded

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
)

// controlPath is the path at which a Server with Control serves its faults.
const controlPath = "/control/faults"

// maxControlled is the number of active faults at which no more can be added over HTTP.
const maxControlled = 100

// controlledFault is a fault as a client of the control interface sees it.
type controlledFault struct {
	// ID counts the faults of an engine from 1.
	ID uint64 `json:"id"`
	// Fault is the text of the fault, see ParseFault.
	Fault string `json:"fault"`
	// Hit is the number of requests that the fault has hit.
	Hit int `json:"hit"`
}

// newControl returns the handler of the control interface of an engine.
func newControl(e *Engine) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+controlPath, e.listFaults)
	mux.HandleFunc("POST "+controlPath, e.addFault)
	mux.HandleFunc("DELETE "+controlPath, e.clearFaults)
	mux.HandleFunc("DELETE "+controlPath+"/{id}", e.deleteFault)
	return mux
}

// listFaults responds with the faults that are active.
func (e *Engine) listFaults(w http.ResponseWriter, _ *http.Request) {
	writeControl(w, http.StatusOK, e.faults.list())
}

// addFault injects the fault whose text is the body, and responds with its id.
func (e *Engine) addFault(w http.ResponseWriter, request *http.Request) {
	text, err := io.ReadAll(http.MaxBytesReader(w, request.Body, maxFaultText))
	if err != nil {
		http.Error(w, fmt.Sprintf("read the fault: %v", err), http.StatusBadRequest)
		return
	}
	fault, err := ParseFault(string(text))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if err := e.enter(); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	defer e.leave()
	if len(e.faults.list()) >= maxControlled {
		http.Error(w, fmt.Sprintf("there are %d faults already: remove some first", maxControlled), http.StatusConflict)
		return
	}
	active := e.inject(fault)
	writeControl(w, http.StatusCreated, controlledFault{ID: active.number, Fault: fault.String()})
}

// clearFaults removes all faults.
func (e *Engine) clearFaults(w http.ResponseWriter, _ *http.Request) {
	for _, fault := range e.faults.list() {
		e.faults.removeNumber(fault.ID)
	}
	w.WriteHeader(http.StatusNoContent)
}

// deleteFault removes one fault.
func (e *Engine) deleteFault(w http.ResponseWriter, request *http.Request) {
	id, err := strconv.ParseUint(request.PathValue("id"), 10, 64)
	if err != nil || !e.faults.removeNumber(id) {
		http.Error(w, fmt.Sprintf("there is no fault %.40q", request.PathValue("id")), http.StatusNotFound)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func writeControl(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) //nolint:errchkjson // the client may be gone
}

// list returns the active faults, in the order of their injection.
func (in *injector) list() []controlledFault {
	in.lock.Lock()
	defer in.lock.Unlock()
	faults := make([]controlledFault, len(in.faults))
	for i, active := range in.faults {
		faults[i] = controlledFault{active.number, active.String(), active.hit}
	}
	return faults
}

// removeNumber removes the fault with a number, and reports whether it was active.
func (in *injector) removeNumber(number uint64) bool {
	in.lock.Lock()
	i := slices.IndexFunc(in.faults, func(active *activeFault) bool { return active.number == number })
	if i < 0 {
		in.lock.Unlock()
		return false
	}
	active := in.faults[i]
	in.lock.Unlock()
	in.remove(active)
	return true
}

// checkControl returns an error if a listener's address can be reached from other machines.
func checkControl(address net.Addr) error {
	if tcp, ok := address.(*net.TCPAddr); ok && !tcp.IP.IsLoopback() {
		return errors.New("embedded: Server.Control needs a loopback address: it has no authentication")
	}
	return nil
}
