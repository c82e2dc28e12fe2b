package serialization

import (
	"errors"
	"fmt"
)

var (
	// ErrUnknownType means that no serializer is registered for a Go type.
	ErrUnknownType = errors.New("no serializer registered for the type")
	// ErrUnknownSerializer means that no decoder is registered for a serializer
	// id with a manifest.
	ErrUnknownSerializer = errors.New("no decoder registered for the serializer id and manifest")
	// ErrTooLarge means that a compressed payload is larger than the registry's
	// limit once decompressed.
	ErrTooLarge = errors.New("decompressed size is above the limit")
)

// DecodeError reports which payload could not be decoded, and why. Its cause is
// ErrUnknownSerializer, ErrTooLarge or a description of the bad bytes.
type DecodeError struct {
	// SerializerID and Manifest are the stored ones of the payload.
	SerializerID int32
	Manifest     string
	// Err is the reason.
	Err error
}

// Error names the serializer id, the manifest and the reason.
func (e *DecodeError) Error() string {
	return fmt.Sprintf("decode payload of serializer %d, manifest %q: %v", e.SerializerID, e.Manifest, e.Err)
}

// Unwrap returns the reason.
func (e *DecodeError) Unwrap() error { return e.Err }
