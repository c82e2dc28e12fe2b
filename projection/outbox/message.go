package outbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"unicode/utf8"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// The limits of the messages of an event.
const (
	maxMessages      = 100
	maxTopicBytes    = 256
	maxEncodedBytes  = 300 << 10 // an item of DynamoDB has at most 400 KB
	messageIDPattern = `^[0-9a-f]{64}$`
)

var (
	headerName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)
	messageID  = regexp.MustCompile(messageIDPattern)
)

// messageIDOf returns the idempotency key of a message. It must never change, because a target uses
// it to recognize messages that it has received.
func messageIDOf(journal, projection, pid string, of engine.Offset, index int) string {
	writer := of.Writer
	h := sha256.New()
	for _, part := range []string{
		journal, projection, pid, strconv.FormatInt(of.Seq, 10), writer, strconv.Itoa(index),
	} {
		_, _ = fmt.Fprintf(h, "%d:%s", len(part), part) // it has no error
	}
	return hex.EncodeToString(h.Sum(nil))
}

// of makes the messages of a step. It also returns them in their stored form.
func (o *outbox) of(ctx context.Context, r *engine.Run, s *engine.Step) ([]Message, []byte, error) {
	var all []Message
	err := r.EachEvent(ctx, s, func(event dynajournal.Event) error {
		messages, err := o.make(ctx, event)
		if err == nil && len(messages) > maxMessages-len(all) {
			err = fmt.Errorf("%w: an event has more than %d messages", ErrInvalidMessage, maxMessages)
		}
		if err != nil {
			return err
		}
		for _, m := range messages {
			of := engine.Offset{Seq: s.Event.SequenceNumber, Writer: s.Event.Writer}
			m.ID = messageIDOf(r.Group.Table.JournalName, r.Of.Name, r.Pid, of, len(all))
			m.PersistenceID, m.SequenceNumber = r.Pid, of.Seq
			if err := m.check(); err != nil {
				return fmt.Errorf("message %d: %w", len(all), err)
			}
			all = append(all, m)
		}
		return nil
	})
	if err != nil || len(all) == 0 {
		return nil, nil, err
	}
	encoded, err := json.Marshal(all)
	if err == nil && len(encoded) > maxEncodedBytes {
		err = fmt.Errorf("%w: the messages of an event have %d bytes as JSON, the limit is %d", ErrInvalidMessage,
			len(encoded), maxEncodedBytes)
	}
	return all, encoded, err
}

func (m *Message) check() error {
	if len(m.Topic) > maxTopicBytes || !utf8.ValidString(m.Topic) {
		return fmt.Errorf("%w: the topic %.20q has more than %d bytes, or is not UTF-8", ErrInvalidMessage,
			m.Topic, maxTopicBytes)
	}
	for name, value := range m.Headers {
		if !headerName.MatchString(name) {
			return fmt.Errorf("%w: invalid header name %.70q", ErrInvalidMessage, name)
		}
		if !utf8.ValidString(value) {
			return fmt.Errorf("%w: the value of header %s is not UTF-8", ErrInvalidMessage, name)
		}
	}
	return nil
}

// decodeMessages decodes messages in their stored form.
func decodeMessages(encoded []byte) ([]Message, error) {
	var all []Message
	if err := json.Unmarshal(encoded, &all); err != nil {
		return nil, fmt.Errorf("decode messages: %w", err)
	}
	if len(all) == 0 || len(all) > maxMessages {
		return nil, fmt.Errorf("%d messages, want 1 to 100", len(all))
	}
	for i := range all {
		m := &all[i]
		if !messageID.MatchString(m.ID) || m.PersistenceID == "" || m.SequenceNumber < 1 {
			return nil, errors.New("a message has an invalid id, persistence id or sequence number")
		}
		if err := m.check(); err != nil {
			return nil, err
		}
	}
	return all, nil
}
