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

// IDExternal is the serializer id of a reference to a payload in a [PayloadStore]. The manifest is
// that of the payload. Neither Akka nor Pekko has a serializer with this id.
const IDExternal int32 = 400_000

var (
	// ErrPayloadMissing means that a PayloadStore has nothing at the key of a reference.
	ErrPayloadMissing = errors.New("the payload is not in the store")
	// ErrPayloadDamaged means that a PayloadStore has other bytes than those that were put.
	ErrPayloadDamaged = errors.New("the payload in the store is not what was put there")
	// ErrPayloadUnreachable means that a PayloadStore has returned another error than that it has
	// no payload: it may have it later. A projection whose handler returns it waits, and counts no
	// attempt.
	ErrPayloadUnreachable = errors.New("the store of payloads can't be reached")
	// ErrNoPayloadStore means that a payload is in a store, and the registry has none.
	ErrNoPayloadStore = errors.New("the payload is in a store: make the registry with serialization.External")
)

// PayloadStore keeps payloads that are too large for an item of DynamoDB, such as objects in S3. It
// must be safe for concurrent use.
type PayloadStore interface {
	// Put stores bytes at a key, at which nothing was stored before. After nil they are durable,
	// and every Get finds them. After an error they may be stored.
	Put(ctx context.Context, key string, data []byte) error
	// Get returns the bytes at a key. If there are more than limit it returns an error, or some of
	// them and at least limit+1. If there are none the error is ErrPayloadMissing.
	Get(ctx context.Context, key string, limit int) ([]byte, error)
}

// External lets payloads of more than so many bytes be kept in a store: Encode puts them there, and
// returns a reference, with the key, the size and the SHA-256 of the payload. Decode reads the
// payload, and compares it with that. A negative above counts as 0.
//
// A payload is put before the event or the snapshot with its reference is written. So a write that
// fails leaves a payload to which nothing refers; package payloads finds these. An event is
// rejected if its payload was put more than half an hour before, as when the machine has slept.
// Each Encode has a new random key. A [Payload] that is ready is encoded as it is: it is never put,
// and a copy of a reference refers to the same payload.
//
// Payloads above the registry's limit ([WithMaxDecompressed]) fail with ErrTooLarge.
func External(store PayloadStore, above int) Option {
	return func(r *Registry) { r.store, r.above = store, max(above, 0) }
}

// Reference is what is stored instead of a payload that is in a [PayloadStore], as JSON.
type Reference struct {
	// Key is that of the payload in the store: 26 letters and digits.
	Key string `json:"external_payload"`
	// Bytes is the size of the payload.
	Bytes int `json:"bytes"`
	// SHA256 is that of the payload, in hexadecimal.
	SHA256 string `json:"sha256"`
	// SerializerID is that of the payload.
	SerializerID int32 `json:"serializer_id"`
}

// ReferencePrefix is how every stored reference begins, before its key.
const ReferencePrefix = `{"external_payload":"`

// ReferenceKeySize is the length of the key of a reference, in bytes.
const ReferenceKeySize = 26

// ParseReference returns the reference that is stored with IDExternal. Bytes is not bounded.
func ParseReference(data []byte) (Reference, error) {
	var ref Reference
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&ref); err != nil {
		return ref, fmt.Errorf("read a reference: %w", err)
	}
	sum, err := hex.DecodeString(ref.SHA256)
	switch {
	case d.InputOffset() != int64(len(data)):
		return ref, errors.New("read a reference: bytes follow it")
	case err != nil || len(sum) != sha256.Size:
		return ref, errors.New("read a reference: its SHA-256 is none")
	case !IsReferenceKey(ref.Key):
		return ref, errors.New("read a reference: its key is none")
	case !bytes.HasPrefix(data, []byte(ReferencePrefix+ref.Key)):
		// Package payloads would not find it.
		return ref, errors.New("read a reference: it does not begin with its key")
	case ref.Bytes < 0:
		return ref, errors.New("read a reference: its size is negative")
	case ref.SerializerID == IDExternal:
		return ref, errors.New("read a reference: it refers to a reference")
	}
	return ref, nil
}

// IsReferenceKey reports whether a key is one that External makes.
func IsReferenceKey(key string) bool {
	return len(key) == ReferenceKeySize && !bytes.ContainsFunc([]byte(key), func(c rune) bool {
		return (c < 'A' || c > 'Z') && (c < '0' || c > '9')
	})
}

// put puts a payload that is too large to the store, and returns the reference to it. Others it
// returns unchanged.
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
		return Payload{}, fmt.Errorf("write a reference: %w", err)
	}
	return Payload{SerializerID: IDExternal, Manifest: p.Manifest, Bytes: stored}, nil
}

// Resolve returns the payload that a payload refers to, read from the store of External. One that
// is no reference is returned unchanged. Decode does the same before it decodes.
//
// Errors: ErrPayloadMissing, ErrPayloadDamaged, ErrPayloadUnreachable with the error of the store
// or of ctx, ErrNoPayloadStore, ErrTooLarge, and that of a reference that can't be read.
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
