package serialization

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// jacksonIDs are the serializers of the Jackson family. A type registered for one of them is read
// from all of them, so that a service can change from one to another.
var jacksonIDs = [...]int32{IDJacksonJSON, IDJacksonOldCBOR, IDJacksonCBOR}

// jacksonType describes how Jackson serializes a type.
type jacksonType struct {
	id   int32
	cbor bool
	// class is empty only with omitClass.
	class string
	// omitClass leaves the class out of the manifest.
	omitClass bool
	// formerClasses are other classes that are read as this type.
	formerClasses []string
	// version is 0 for a type without versions.
	version     int
	migrate     func(from int, document []byte) ([]byte, error)
	compression Compression
	// compressAbove is the size in bytes above which documents are compressed.
	compressAbove int
}

// JacksonOption configures a type registered with JSON or CBOR.
type JacksonOption func(*jacksonType)

// Version sets the version that is written. From 2 on, it is part of the manifest. Older versions
// are read, through Migrate if it is set; newer ones fail. Without Version, the type has no
// version, and any stored version is read unchanged.
func Version(current int) JacksonOption {
	return func(t *jacksonType) { t.version = current }
}

// Migrate sets the function that converts a document of an older version to the
// current one. It is called with the stored version, at least 1, and the
// document as JSON, even if it was stored as CBOR. It needs Version.
func Migrate(migrate func(from int, document []byte) ([]byte, error)) JacksonOption {
	return func(t *jacksonType) { t.migrate = migrate }
}

// FormerClasses names other classes whose stored values are read as this type.
func FormerClasses(classes ...string) JacksonOption {
	return func(t *jacksonType) { t.formerClasses = append(t.formerClasses, classes...) }
}

// Compress sets how documents of more than above bytes are compressed when written. The defaults
// are those of the JVM side: Gzip above 32 KiB for JSON, NoCompression for CBOR. Every form can be
// read.
func Compress(with Compression, above int) JacksonOption {
	return func(t *jacksonType) { t.compression, t.compressAbove = with, above }
}

// SerializerID sets the id of an additional Jackson binding, as
// akka.actor.serialization-identifiers { jackson-json-event = 9001 } does on the JVM. Values are
// written with this id, and read from it and from the ids 31 to 33. It can't be the id of another
// built-in serializer. Several types can have the same id, all with JSON or all with CBOR.
func SerializerID(id int32) JacksonOption {
	return func(t *jacksonType) { t.id = id }
}

// OmitClass writes manifests without the class, as a JVM's binding does with type-in-manifest =
// off: they are empty, or "#" and the version. The serializer id then selects T, so only one type
// can omit its class for an id. Values with the class, or with one of FormerClasses, are also read.
// If there are no such values, class can be empty.
func OmitClass() JacksonOption {
	return func(t *jacksonType) { t.omitClass = true }
}

// JSON registers T for the JVM class that Jackson writes as JSON (serializer
// 31), using encoding/json. Strings are escaped as Jackson does; numbers are
// written as encoding/json does, so a whole float64 has no ".0".
//
// class is stored as the manifest of every value, and selects T when the value is read. The Go type
// can be renamed: its name is not stored. If no JVM reads the journal, class can be any name, such
// as "withdrawn". It must be UTF-8, and can't contain "#" or, without OmitClass, be empty.
//
// JSON fails if T is an interface, if T or a class is already registered, if a class is not valid,
// or if options contradict each other.
func JSON[T any](r *Registry, class string, opts ...JacksonOption) error {
	const compressAbove = 32 << 10
	t := jacksonType{id: IDJacksonJSON, class: class, compression: Gzip, compressAbove: compressAbove}

	return registerJackson[T](r, t, opts)
}

// CBOR registers T for the JVM class that Jackson writes as CBOR (serializer 33). Fields take their
// names from cbor tags, or else from json tags. Maps are written in arbitrary order.
//
// CBOR fails as JSON does.
func CBOR[T any](r *Registry, class string, opts ...JacksonOption) error {
	return registerJackson[T](r, jacksonType{id: IDJacksonCBOR, cbor: true, class: class}, opts)
}

func registerJackson[T any](r *Registry, t jacksonType, opts []JacksonOption) error {
	goType := reflect.TypeFor[T]()
	for _, opt := range opts {
		opt(&t)
	}
	if goType.Kind() == reflect.Interface {
		return fmt.Errorf("register %v: an interface type cannot be decoded into", goType)
	}
	if err := t.check(); err != nil {
		return fmt.Errorf("register %v: %w", goType, err)
	}
	ids := jacksonIDs[:]
	if !slices.Contains(ids, t.id) {
		ids = append(slices.Clone(ids), t.id)
	}
	keys := make([]decoderKey, 0, len(ids)*(1+len(t.formerClasses))+1)
	if t.omitClass {
		keys = append(keys, decoderKey{t.id, ""})
	}
	for _, class := range t.classes() {
		for _, id := range ids {
			keys = append(keys, decoderKey{id, withoutVersion(class)})
		}
	}
	decode := func(p Payload) (any, error) {
		var value T
		document, isCBOR, err := t.document(p, r.maxDecompressed)
		if err != nil {
			return nil, err
		}
		if isCBOR {
			err = unmarshalCBOR(document, &value)
		} else {
			err = unmarshalJSON(document, &value)
		}

		return value, err
	}

	if err := r.addJackson(t.id, t.cbor); err != nil {
		return fmt.Errorf("register %v: %w", goType, err)
	}

	return r.register(goType, t.encode, keys, decode)
}

// classes returns the classes that are read as this type.
func (t *jacksonType) classes() []string {
	if t.omitClass && t.class == "" {
		return t.formerClasses
	}

	return append([]string{t.class}, t.formerClasses...)
}

func (t *jacksonType) check() error {
	if slices.Contains(builtInIDs, t.id) && !slices.Contains(jacksonIDs[:], t.id) {
		return fmt.Errorf("serializer id %d is built in", t.id)
	}
	for _, class := range t.classes() {
		if class == "" {
			return errors.New("class name is empty")
		}
		if strings.Contains(class, "#") {
			return fmt.Errorf("class name %q contains #, which marks a version", class)
		}
		if err := checkManifest(class); err != nil {
			return err
		}
	}
	switch {
	case t.version < 0:
		return fmt.Errorf("version %d is below 1", t.version)
	case t.version == 0 && t.migrate != nil:
		return errors.New("Migrate is set without Version")
	case t.compression < NoCompression || t.compression > LZ4:
		return fmt.Errorf("unknown compression %d", t.compression)
	}

	return nil
}

func (t *jacksonType) encode(value any) (Payload, error) {
	marshal := marshalJSON
	if t.cbor {
		marshal = marshalCBOR
	}
	document, err := marshal(value)
	if err != nil {
		return Payload{}, err
	}
	if len(document) > t.compressAbove {
		if document, err = t.compression.compress(document); err != nil {
			return Payload{}, err
		}
	}
	manifest := t.class
	if t.omitClass {
		manifest = ""
	}
	if t.version > 1 {
		manifest += "#" + strconv.Itoa(t.version)
	}

	return Payload{SerializerID: t.id, Manifest: manifest, Bytes: document}, nil
}

// document returns the document stored in p, decompressed and of the current
// version, and reports whether it is CBOR rather than JSON.
func (t *jacksonType) document(p Payload, limit int64) (document []byte, isCBOR bool, err error) {
	from, err := storedVersion(p.Manifest)
	if err != nil {
		return nil, false, err
	}
	if t.version > 0 && from > t.version {
		return nil, false, fmt.Errorf("version %d is newer than the registered %d", from, t.version)
	}
	document, err = decompress(p.Bytes, limit)
	if err != nil {
		return nil, false, err
	}
	// The serializer with the old id was meant to write CBOR and wrote JSON.
	// Text never starts like a CBOR object or array.
	isCBOR = p.SerializerID == IDJacksonCBOR ||
		t.cbor && !slices.Contains(jacksonIDs[:], p.SerializerID) ||
		p.SerializerID == IDJacksonOldCBOR && len(document) > 0 && document[0] >= cborArray
	if t.migrate == nil || from == t.version {
		return document, isCBOR, nil
	}
	if isCBOR {
		if document, err = jsonFromCBOR(document); err != nil {
			return nil, false, err
		}
	}
	if document, err = t.migrate(from, document); err != nil {
		return nil, false, fmt.Errorf("migrate from version %d to %d: %w", from, t.version, err)
	}

	return document, false, nil
}

// storedVersion returns the number after the manifest's last "#", or 1.
func storedVersion(manifest string) (int, error) {
	i := strings.LastIndexByte(manifest, '#')
	if i < 0 {
		return 1, nil
	}
	version, err := strconv.ParseUint(manifest[i+1:], 10, 31)
	if err != nil || version == 0 {
		return 0, fmt.Errorf("manifest has the invalid version %q", manifest[i+1:])
	}

	return int(version), nil
}

func unmarshalJSON(document []byte, value any) error {
	if !utf8.Valid(document) {
		return errors.New("JSON document is not valid UTF-8")
	}
	if err := json.Unmarshal(document, value); err != nil {
		return fmt.Errorf("JSON document: %w", err)
	}

	return nil
}

func marshalJSON(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, fmt.Errorf("JSON document: %w", err)
	}

	return escapeAsJackson(bytes.TrimSuffix(out.Bytes(), []byte("\n"))), nil
}
