package serialization

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
)

// IDExternal is the serializer id of a reference to a payload in a [PayloadStore]. The manifest of
// a reference is the manifest of its payload. Neither Akka nor Pekko has a serializer with this id.
const IDExternal int32 = 400_000

var (
	// ErrPayloadMissing means that a PayloadStore has nothing at the key of a reference.
	ErrPayloadMissing = errors.New("the payload is not in the store")
	// ErrPayloadDamaged means that a PayloadStore has returned other bytes than were put.
	ErrPayloadDamaged = errors.New("the payload in the store differs from the payload that was put")
	// ErrPayloadUnreachable means that a PayloadStore has returned another error than
	// ErrPayloadMissing: the payload may be readable later. A projection whose handler returns this
	// error waits, and does not count an attempt.
	ErrPayloadUnreachable = errors.New("the payload store can't be reached")
	// ErrNoPayloadStore means that a payload is in a store, but the registry has no store.
	ErrNoPayloadStore = errors.New("the payload is in a payload store: create the registry with serialization.External")
)

// PayloadStore stores payloads that are too large for a DynamoDB item, for example as objects in
// S3. It must be safe for concurrent use.
type PayloadStore interface {
	// Put stores bytes at a key where nothing was stored before. When it returns nil, the bytes are
	// durable, and every Get finds them. After an error they may be stored.
	Put(ctx context.Context, key string, data []byte) error
	// Get returns the bytes at a key. If there are more than limit, it returns an error, or at
	// least the first limit+1 bytes. If nothing is stored at the key, the error is
	// ErrPayloadMissing.
	Get(ctx context.Context, key string, limit int) ([]byte, error)
}

// External makes the registry put payloads of more than above bytes in a store. Encode puts such a
// payload there, and returns a reference with the key, the size and the SHA-256 of the payload.
// Decode reads the payload, and compares it with the reference. A negative above counts as 0.
//
// A payload is put before the event or the snapshot with its reference is written. So a write that
// fails leaves a payload that nothing refers to; package payloads finds such payloads. An event is
// rejected if its payload was put more than half an hour before, for example because the machine
// was asleep. Each Encode uses a new random key. A value that is already a [Payload] is returned
// unchanged and never put in the store; a copy of a reference refers to the same payload.
//
// Payloads above the registry's limit ([WithMaxDecompressed]) fail with [ErrTooLarge].
func External(store PayloadStore, above int) Option {
	return func(r *Registry) { r.store, r.above = store, max(above, 0) }
}

// Reference is stored, as JSON, in place of a payload that is in a [PayloadStore].
type Reference struct {
	// Key is the key of the payload in the store: 26 letters and digits.
	Key string `json:"external_payload"`
	// Bytes is the size of the payload.
	Bytes int `json:"bytes"`
	// SHA256 is the SHA-256 of the payload, in hexadecimal.
	SHA256 string `json:"sha256"`
	// SerializerID is the serializer id of the payload.
	SerializerID int32 `json:"serializer_id"`
}

// ReferencePrefix is the start of every stored reference, before its key.
const ReferencePrefix = `{"external_payload":"`

// ReferenceKeySize is the length of the key of a reference, in bytes.
const ReferenceKeySize = 26

// ParseReference parses a reference that is stored with IDExternal. It does not limit Bytes.
func ParseReference(data []byte) (Reference, error) {
	var ref Reference
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&ref); err != nil {
		return ref, fmt.Errorf("payload reference: %w", err)
	}
	sum, err := hex.DecodeString(ref.SHA256)
	switch {
	case d.InputOffset() != int64(len(data)):
		return ref, errors.New("payload reference: more bytes follow it")
	case err != nil || len(sum) != sha256.Size:
		return ref, errors.New("payload reference: missing or invalid SHA-256")
	case !IsReferenceKey(ref.Key):
		return ref, errors.New("payload reference: missing or invalid key")
	case !bytes.HasPrefix(data, []byte(ReferencePrefix+ref.Key)):
		// Package payloads would not find it.
		return ref, errors.New("payload reference: does not start with its key")
	case ref.Bytes < 0:
		return ref, errors.New("payload reference: negative size")
	case ref.SerializerID == IDExternal:
		return ref, errors.New("payload reference: refers to another reference")
	}
	return ref, nil
}

// IsReferenceKey reports whether key has the form of the keys that External creates.
func IsReferenceKey(key string) bool {
	return len(key) == ReferenceKeySize && !bytes.ContainsFunc([]byte(key), func(c rune) bool {
		return (c < 'A' || c > 'Z') && (c < '0' || c > '9')
	})
}

// put puts a payload in the store if it is too large, and returns the reference to it. Other
// payloads are returned unchanged.
func (r *Registry) put(ctx context.Context, p Payload) (Payload, error) {
	if r.store == nil || len(p.Bytes) <= r.above {
		return p, nil
	}
	if int64(len(p.Bytes)) > r.maxDecompressed {
		return Payload{}, fmt.Errorf("%d bytes: %w", len(p.Bytes), ErrTooLarge)
	}
	sum := sha256.Sum256(p.Bytes)
	ref := Reference{rand.Text(), len(p.Bytes), hex.EncodeToString(sum[:]), p.SerializerID}
	if err := r.store.Put(ctx, ref.Key, p.Bytes); err != nil {
		return Payload{}, fmt.Errorf("put a payload of %d bytes to the store at key %s: %w", ref.Bytes, ref.Key, err)
	}
	stored, err := json.Marshal(ref)
	if err != nil {
		return Payload{}, fmt.Errorf("encode payload reference: %w", err)
	}
	return Payload{SerializerID: IDExternal, Manifest: p.Manifest, Bytes: stored}, nil
}

// Resolve returns the payload that a reference refers to, read from the store of External. A
// payload that is not a reference is returned unchanged. Decode calls Resolve before it decodes.
//
// Errors: ErrPayloadMissing, ErrPayloadDamaged, ErrPayloadUnreachable with the error of the store
// or of ctx, [ErrNoPayloadStore], [ErrTooLarge], and the error of ParseReference.
func (r *Registry) Resolve(ctx context.Context, p Payload) (Payload, error) {
	if p.SerializerID != IDExternal {
		return p, nil
	}
	ref, err := ParseReference(p.Bytes)
	if err != nil {
		return p, err
	}
	if r.store == nil {
		return p, fmt.Errorf("key %s: %w", ref.Key, ErrNoPayloadStore)
	}
	if int64(ref.Bytes) > r.maxDecompressed {
		return p, fmt.Errorf("key %s has %d bytes: %w", ref.Key, ref.Bytes, ErrTooLarge)
	}
	data, err := r.store.Get(ctx, ref.Key, ref.Bytes)
	if err != nil && !errors.Is(err, ErrPayloadMissing) {
		err = fmt.Errorf("%w: %w", ErrPayloadUnreachable, err)
	}
	if err != nil {
		return p, fmt.Errorf("get the payload at key %s: %w", ref.Key, err)
	}
	if len(data) != ref.Bytes {
		return p, fmt.Errorf("key %s: %w: it has %d bytes instead of %d", ref.Key, ErrPayloadDamaged, len(data), ref.Bytes)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != ref.SHA256 {
		return p, fmt.Errorf("key %s: %w: its SHA-256 is %x instead of %s", ref.Key, ErrPayloadDamaged, sum, ref.SHA256)
	}
	return Payload{SerializerID: ref.SerializerID, Manifest: p.Manifest, Bytes: data}, nil
}
