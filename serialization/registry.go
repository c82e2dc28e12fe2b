package serialization

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
)

// DefaultMaxDecompressed is the default limit, in bytes, on the decompressed
// size of a payload.
const DefaultMaxDecompressed = 64 << 20

type (
	encodeFunc func(value any) (Payload, error)
	decodeFunc func(p Payload) (any, error)
)

// decoderKey names a decoder. The name is canonical: see canonicalName.
type decoderKey struct {
	id   int32
	name string
}

// Registry maps Go types to serializers, and serializer ids with manifests to decoders. Its methods
// and the functions that register types may be called concurrently; a type is known once its
// registration has returned.
type Registry struct {
	maxDecompressed int64
	prefix          ManifestPrefix
	// store has the payloads of more bytes than above. Without a store, they are encoded like other
	// payloads.
	store PayloadStore
	above int

	mu       sync.RWMutex
	encoders map[reflect.Type]encodeFunc
	decoders map[decoderKey]decodeFunc
	// anyManifest holds the decoders of serializers that ignore the manifest.
	anyManifest map[int32]decodeFunc
	// jackson has the ids of Jackson bindings, whose manifests can end in a version. The value
	// reports whether the binding writes CBOR.
	jackson map[int32]bool
}

// Option configures a Registry.
type Option func(*Registry)

// WithMaxDecompressed limits the size of a payload after decompression, in bytes; larger ones fail
// with [ErrTooLarge]. The default is DefaultMaxDecompressed; a limit below 1 rejects all compressed
// payloads. It also limits the payloads that External puts in a store.
func WithMaxDecompressed(limit int64) Option {
	return func(r *Registry) { r.maxDecompressed = limit }
}

// WithManifestPrefix sets which of the two package prefixes is written in manifests that begin with
// either; the default is Pekko. Both can be read.
func WithManifestPrefix(prefix ManifestPrefix) Option {
	return func(r *Registry) { r.prefix = prefix }
}

// NewRegistry returns a registry that knows the built-in serializers.
func NewRegistry(opts ...Option) *Registry {
	r := &Registry{
		maxDecompressed: DefaultMaxDecompressed,
		prefix:          Pekko,
		encoders:        map[reflect.Type]encodeFunc{},
		decoders:        map[decoderKey]decodeFunc{},
		anyManifest:     map[int32]decodeFunc{},
		jackson:         map[int32]bool{},
	}
	for _, opt := range opts {
		opt(r)
	}
	r.addPrimitives()
	r.addJava()
	r.addMessages()
	r.addSnapshot()

	return r
}

// Encode serializes value with the serializer registered for its type,
// or for the type it points to. A Payload, or a pointer to one, is returned as
// it is. Only a [PayloadStore] needs ctx.
//
// The error is [ErrUnknownType], wrapped, if there is no serializer for the type. With External it
// can also be [ErrTooLarge] or an error of the [PayloadStore] or of ctx.
func (r *Registry) Encode(ctx context.Context, value any) (Payload, error) {
	switch raw := value.(type) {
	case Payload:
		return raw, nil
	case *Payload:
		if raw == nil {
			return Payload{}, errors.New("encode: nil *Payload")
		}

		return *raw, nil
	}
	p, err := r.encode(value)
	if err != nil {
		return Payload{}, fmt.Errorf("encode %T: %w", value, err)
	}
	p.Manifest = r.prefix.apply(p.Manifest)
	if p, err = r.put(ctx, p); err != nil {
		return Payload{}, fmt.Errorf("encode %T: %w", value, err)
	}

	return p, nil
}

func (r *Registry) encode(value any) (Payload, error) {
	if value == nil {
		return Payload{}, ErrUnknownType
	}
	t := reflect.TypeOf(value)
	if encode := r.encoder(t); encode != nil {
		return encode(value)
	}
	if t.Kind() != reflect.Pointer {
		return Payload{}, ErrUnknownType
	}
	encode := r.encoder(t.Elem())
	if encode == nil {
		return Payload{}, ErrUnknownType
	}
	pointer := reflect.ValueOf(value)
	if pointer.IsNil() {
		return Payload{}, errors.New("nil pointer")
	}

	return encode(pointer.Elem().Interface())
}

func (r *Registry) encoder(t reflect.Type) encodeFunc {
	r.mu.RLock()
	defer r.mu.RUnlock()

	return r.encoders[t]
}

// Decode returns the Go value of p; it does not retain p.Bytes. Only a [PayloadStore] needs ctx.
// Every error is a [*DecodeError].
func (r *Registry) Decode(ctx context.Context, p Payload) (any, error) {
	value, err := r.decode(ctx, p)
	if err != nil {
		return nil, &DecodeError{SerializerID: p.SerializerID, Manifest: p.Manifest, Err: err}
	}

	return value, nil
}

func (r *Registry) decode(ctx context.Context, p Payload) (any, error) {
	if err := checkManifest(p.Manifest); err != nil {
		return nil, err
	}
	p, err := r.Resolve(ctx, p)
	if err != nil {
		return nil, err
	}
	decode := r.decoder(p)
	if decode == nil {
		return nil, ErrUnknownSerializer
	}

	return decode(p)
}

func (r *Registry) decoder(p Payload) decodeFunc {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if decode := r.decoders[decoderKey{p.SerializerID, canonicalName(p.SerializerID, p.Manifest)}]; decode != nil {
		return decode
	}
	if _, is := r.jackson[p.SerializerID]; is {
		return r.decoders[decoderKey{p.SerializerID, withoutVersion(p.Manifest)}]
	}

	return r.anyManifest[p.SerializerID]
}

// addJackson adds the id of a Jackson binding, which writes either JSON or
// CBOR.
func (r *Registry) addJackson(id int32, cbor bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if other, is := r.jackson[id]; is && other != cbor {
		return fmt.Errorf("serializer %d is registered both for JSON and for CBOR", id)
	}
	r.jackson[id] = cbor

	return nil
}

// encoderOf returns encode as an encodeFunc for values of type T.
func encoderOf[T any](encode func(value T) (Payload, error)) encodeFunc {
	return func(value any) (Payload, error) {
		typed, is := value.(T)
		if !is {
			return Payload{}, ErrUnknownType
		}

		return encode(typed)
	}
}

// register adds a type's serializer and the decoders for the given keys, all or
// nothing. A nil encode registers decoders only.
func (r *Registry) register(t reflect.Type, encode encodeFunc, keys []decoderKey, decode decodeFunc) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if encode != nil && r.encoders[t] != nil {
		return fmt.Errorf("register %v: the type has a serializer already", t)
	}
	for _, key := range keys {
		if r.decoders[key] != nil || r.anyManifest[key.id] != nil || key.id == IDExternal {
			return fmt.Errorf("register %v: serializer %d, manifest %q is taken already", t, key.id, key.name)
		}
	}
	if encode != nil {
		r.encoders[t] = encode
	}
	for _, key := range keys {
		r.decoders[key] = decode
	}

	return nil
}
