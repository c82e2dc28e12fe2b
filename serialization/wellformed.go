package serialization

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// WellFormed returns an error if the serializer of p can't have written p. It
// checks only what does not depend on the class: a document of Jackson must be
// valid JSON or well-formed CBOR after decompression, a protobuf message must
// be a sequence of whole fields, and a reference must be valid, but its payload
// is not read. Other serializers are not checked. Every error is a
// [*DecodeError].
func (r *Registry) WellFormed(p Payload) error {
	var err error
	r.mu.RLock()
	cbor, ofJackson := r.jackson[p.SerializerID]
	r.mu.RUnlock()
	switch p.SerializerID {
	case IDJacksonJSON, IDJacksonCBOR, IDJacksonOldCBOR:
		err = wellFormedDocument(p, r.maxDecompressed, cbor)
	case IDProtobuf:
		err = wellFormedFields(p.Bytes)
	case IDExternal:
		_, err = ParseReference(p.Bytes)
	default:
		if ofJackson {
			err = wellFormedDocument(p, r.maxDecompressed, cbor)
		}
	}
	if err != nil {
		return &DecodeError{SerializerID: p.SerializerID, Manifest: p.Manifest, Err: err}
	}

	return nil
}

func wellFormedDocument(p Payload, limit int64, cbor bool) error {
	document, isCBOR, err := (&jacksonType{cbor: cbor}).document(p, limit)
	if err != nil {
		return err
	}
	if isCBOR {
		if err := cborDecoding.Wellformed(document); err != nil {
			return fmt.Errorf("CBOR document: %w", err)
		}

		return nil
	}
	if !utf8.Valid(document) || !json.Valid(document) {
		return errors.New("JSON document is not valid JSON")
	}

	return nil
}

func wellFormedFields(message []byte) error {
	for len(message) > 0 {
		_, _, n := protowire.ConsumeField(message)
		if n < 0 {
			return fmt.Errorf("protobuf message: %w", protowire.ParseError(n))
		}
		message = message[n:]
	}

	return nil
}
