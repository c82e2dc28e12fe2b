package serialization

import (
	"time"

	"github.com/dynajournal/dynajournal/internal/persistentpb"
)

// StateChangeEvent is a transition of a persistent FSM.
type StateChangeEvent struct {
	// State identifies the new state.
	State string
	// Timeout is the timeout of the new state, or nil.
	Timeout *time.Duration
	// TimeoutText is the timeout as Akka wrote it before 2.4.5, such as
	// "3 seconds"; empty in all later events.
	TimeoutText string
}

// FSMSnapshot is the state of a persistent FSM.
type FSMSnapshot struct {
	// State identifies the state.
	State string
	// Data is the serialized data of the FSM.
	Data Payload
	// Timeout is the timeout of the state, or nil.
	Timeout *time.Duration
}

func (e StateChangeEvent) message() *persistentpb.PersistentStateChangeEvent {
	return &persistentpb.PersistentStateChangeEvent{
		StateIdentifier: new(e.State),
		Timeout:         stringField(e.TimeoutText),
		TimeoutNanos:    (*int64)(e.Timeout),
	}
}

func stateChangeFromMessage(m *persistentpb.PersistentStateChangeEvent) StateChangeEvent {
	return StateChangeEvent{
		State:       m.GetStateIdentifier(),
		Timeout:     (*time.Duration)(m.TimeoutNanos),
		TimeoutText: m.GetTimeout(),
	}
}

func (s FSMSnapshot) message() *persistentpb.PersistentFSMSnapshot {
	return &persistentpb.PersistentFSMSnapshot{
		StateIdentifier: new(s.State),
		Data:            payloadMessage(s.Data),
		TimeoutNanos:    (*int64)(s.Timeout),
	}
}

func fsmSnapshotFromMessage(m *persistentpb.PersistentFSMSnapshot) FSMSnapshot {
	return FSMSnapshot{
		State:   m.GetStateIdentifier(),
		Data:    payloadFromMessage(m.GetData()),
		Timeout: (*time.Duration)(m.TimeoutNanos),
	}
}
