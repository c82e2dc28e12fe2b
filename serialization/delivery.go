package serialization

import (
	"github.com/dynajournal/dynajournal/internal/persistentpb"
)

// AtLeastOnceDeliverySnapshot is the state of a sender with at-least-once
// delivery.
type AtLeastOnceDeliverySnapshot struct {
	// CurrentDeliveryID is the last delivery id used.
	CurrentDeliveryID int64
	Unconfirmed       []UnconfirmedDelivery
}

// UnconfirmedDelivery is a message that was sent and is not confirmed.
type UnconfirmedDelivery struct {
	DeliveryID int64
	// Destination is an actor path.
	Destination string
	// Message is the serialized message.
	Message Payload
}

func (s AtLeastOnceDeliverySnapshot) message() *persistentpb.AtLeastOnceDeliverySnapshot {
	m := &persistentpb.AtLeastOnceDeliverySnapshot{CurrentDeliveryId: new(s.CurrentDeliveryID)}
	for _, delivery := range s.Unconfirmed {
		m.UnconfirmedDeliveries = append(m.UnconfirmedDeliveries,
			&persistentpb.AtLeastOnceDeliverySnapshot_UnconfirmedDelivery{
				DeliveryId:  new(delivery.DeliveryID),
				Destination: new(delivery.Destination),
				Payload:     payloadMessage(delivery.Message),
			})
	}

	return m
}

func deliveryFromMessage(m *persistentpb.AtLeastOnceDeliverySnapshot) AtLeastOnceDeliverySnapshot {
	s := AtLeastOnceDeliverySnapshot{CurrentDeliveryID: m.GetCurrentDeliveryId()}
	for _, delivery := range m.GetUnconfirmedDeliveries() {
		s.Unconfirmed = append(s.Unconfirmed, UnconfirmedDelivery{
			DeliveryID:  delivery.GetDeliveryId(),
			Destination: delivery.GetDestination(),
			Message:     payloadFromMessage(delivery.GetPayload()),
		})
	}

	return s
}
