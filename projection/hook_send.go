package projection

import "time"

// Sending describes a message of an outbox before it is sent.
type Sending struct {
	// Projection is the name of the group and of the projection, such as billing/hook.
	Projection     string
	PersistenceID  string
	SequenceNumber int64
	// MessageID and Topic are ID and Topic of the outbox.Message.
	MessageID, Topic string
}

// Sent describes a message of an outbox whose target has returned.
type Sent struct {
	Sending

	Result   SendResult
	Duration time.Duration
	// Err is the error of the target, or nil.
	Err error
}

// SendResult is the result of sending a message.
type SendResult string

const (
	// SendAccepted means that the target has accepted the message.
	SendAccepted SendResult = "accepted"
	// SendRefused means that the target refuses the message permanently: it becomes a dead letter.
	SendRefused SendResult = "refused"
	// SendFailed means that the message will be sent again.
	SendFailed SendResult = "failed"
)
