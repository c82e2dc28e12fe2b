package serialization_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/dynajournal/dynajournal/serialization"
)

// shelf is a payload store that can be made to fail.
type shelf struct {
	mu     sync.Mutex
	stored map[string][]byte
	// puts and gets are called first, if they are set.
	puts, gets func(ctx context.Context, key string) error
}

func (s *shelf) Put(ctx context.Context, key string, data []byte) error {
	if s.puts != nil {
		if err := s.puts(ctx, key); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stored == nil {
		s.stored = map[string][]byte{}
	}
	s.stored[key] = bytes.Clone(data)
	return nil
}

func (s *shelf) Get(ctx context.Context, key string, _ int) ([]byte, error) {
	if s.gets != nil {
		if err := s.gets(ctx, key); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	data, there := s.stored[key]
	if !there {
		return nil, serialization.ErrPayloadMissing
	}
	return data, nil
}

type page struct{ Text string }

// external returns a registry that puts payloads of more than 100 bytes in a store.
func external(t *testing.T, store serialization.PayloadStore, opts ...serialization.Option) *serialization.Registry {
	t.Helper()
	r := serialization.NewRegistry(append(opts, serialization.External(store, 100))...)
	if err := serialization.JSON[page](r, "document"); err != nil {
		t.Fatal(err)
	}
	return r
}

func encoded(t *testing.T, r *serialization.Registry, value any) serialization.Payload {
	t.Helper()
	p, err := r.Encode(t.Context(), value)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestLargePayloadsAreInTheStore(t *testing.T) {
	t.Parallel()
	store := &shelf{}
	r := external(t, store)
	for _, value := range []any{page{strings.Repeat("x", 1000)}, strings.Repeat("y", 101), bytes.Repeat([]byte{0}, 5000)} {
		before := len(store.stored)
		p := encoded(t, r, value)
		plain := encoded(t, serialWithout(t), value)
		ref, err := serialization.ParseReference(p.Bytes)
		if err != nil || p.SerializerID != serialization.IDExternal || p.Manifest != plain.Manifest {
			t.Errorf("%+v, %v", p, err)
		}
		if ref.SerializerID != plain.SerializerID || ref.Bytes != len(plain.Bytes) || !bytes.Equal(store.stored[ref.Key], plain.Bytes) {
			t.Errorf("the reference is %+v", ref)
		}
		if len(store.stored) != before+1 || len(p.Bytes) > 250 {
			t.Errorf("%d payloads, a reference of %d bytes", len(store.stored), len(p.Bytes))
		}
		got, err := r.Decode(t.Context(), p)
		if want, _ := serialWithout(t).Decode(t.Context(), plain); err != nil || !equalValues(got, want) {
			t.Errorf("decoded %v, %v", got, err)
		}
		if again := encoded(t, r, value); bytes.Equal(again.Bytes, p.Bytes) {
			t.Error("two payloads have the same key")
		}
		if copied := encoded(t, r, p); !copied.Equal(p) {
			t.Errorf("a copy of a reference is %+v", copied)
		}
	}
	if p := encoded(t, r, strings.Repeat("z", 100)); p.SerializerID != serialization.IDString {
		t.Errorf("a payload of 100 bytes has serializer %d", p.SerializerID)
	}
}

// serialWithout returns a registry without a store.
func serialWithout(t *testing.T) *serialization.Registry {
	t.Helper()
	r := serialization.NewRegistry()
	if err := serialization.JSON[page](r, "document"); err != nil {
		t.Fatal(err)
	}
	return r
}

func equalValues(a, b any) bool {
	x, err1 := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && bytes.Equal(x, y)
}

var errStore = errors.New("the store is not there")

func TestStoreThatFailsIsAnError(t *testing.T) {
	t.Parallel()
	store := &shelf{}
	r := external(t, store)
	p := encoded(t, r, strings.Repeat("x", 200))
	store.puts = func(context.Context, string) error { return errStore }
	store.gets = store.puts
	if p, err := r.Encode(t.Context(), strings.Repeat("x", 200)); !errors.Is(err, errStore) || p.Bytes != nil {
		t.Errorf("encode: %+v, %v", p, err)
	}
	var wrong *serialization.DecodeError
	if _, err := r.Decode(t.Context(), p); !errors.Is(err, errStore) || !errors.As(err, &wrong) {
		t.Errorf("decode: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	store.puts = func(ctx context.Context, _ string) error { return ctx.Err() }
	store.gets = store.puts
	if _, err := r.Encode(ended, strings.Repeat("x", 200)); !errors.Is(err, context.Canceled) {
		t.Errorf("encode: %v", err)
	}
	if _, err := r.Decode(ended, p); !errors.Is(err, context.Canceled) {
		t.Errorf("decode: %v", err)
	}
}

func TestDecode_DamagedExternalPayload(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(stored map[string][]byte, key string)
		want   error
	}{
		"missing":     {func(s map[string][]byte, key string) { delete(s, key) }, serialization.ErrPayloadMissing},
		"a bit":       {func(s map[string][]byte, key string) { s[key][7] ^= 1 }, serialization.ErrPayloadDamaged},
		"cut":         {func(s map[string][]byte, key string) { s[key] = s[key][:50] }, serialization.ErrPayloadDamaged},
		"longer":      {func(s map[string][]byte, key string) { s[key] = append(s[key], 'x') }, serialization.ErrPayloadDamaged},
		"another one": {func(s map[string][]byte, key string) { s[key] = bytes.Repeat([]byte("y"), 200) }, serialization.ErrPayloadDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := &shelf{}
			r := external(t, store)
			p := encoded(t, r, strings.Repeat("x", 200))
			ref, err := serialization.ParseReference(p.Bytes)
			if err != nil {
				t.Fatal(err)
			}
			c.change(store.stored, ref.Key)
			if got, err := r.Decode(t.Context(), p); !errors.Is(err, c.want) || !strings.Contains(err.Error(), ref.Key) {
				t.Errorf("decoded %v, %v", got, err)
			}
		})
	}
}

func TestDecode_InvalidReference(t *testing.T) {
	t.Parallel()
	store := &shelf{gets: func(context.Context, string) error { return errors.New("it was read") }}
	r := external(t, store)
	whole := string(encoded(t, r, strings.Repeat("x", 200)).Bytes)
	key := whole[len(serialization.ReferencePrefix):][:serialization.ReferenceKeySize]
	for name, text := range map[string]string{
		"nothing": "", "no JSON": "reference", "another document": `{"a":1}`, "bytes behind it": whole + " ",
		"a key of a path":       strings.Replace(whole, key, "../../../../../etc/passwd_", 1),
		"a key that is short":   strings.Replace(whole, key, "A", 1),
		"a negative size":       strings.Replace(whole, `"bytes":200`, `"bytes":-1`, 1),
		"a size beyond an int":  strings.Replace(whole, `"bytes":200`, `"bytes":99999999999999999999`, 1),
		"a size over the limit": strings.Replace(whole, `"bytes":200`, `"bytes":67108865`, 1),
		"no hash":               strings.Replace(whole, `"sha256":"`, `"sha256":"zz`, 1),
		"spaces in it":          strings.Replace(whole, `{"`, `{ "`, 1),
		"a reference to one":    strings.Replace(whole, `"serializer_id":20`, `"serializer_id":400000`, 1),
	} {
		if text == whole {
			t.Fatalf("%s: nothing is changed", name)
		}
		p := serialization.Payload{SerializerID: serialization.IDExternal, Bytes: []byte(text)}
		if got, err := r.Decode(t.Context(), p); err == nil || strings.Contains(err.Error(), "it was read") {
			t.Errorf("%s: decoded %v, %v", name, got, err)
		}
		if err := r.WellFormed(p); (err == nil) != (name == "a size over the limit") {
			t.Errorf("%s: well formed: %v", name, err)
		}
	}
	p := serialization.Payload{SerializerID: serialization.IDExternal, Bytes: []byte(whole)}
	if _, err := serialWithout(t).Decode(t.Context(), p); !errors.Is(err, serialization.ErrNoPayloadStore) {
		t.Errorf("without a store: %v", err)
	}
	if err := serialWithout(t).WellFormed(p); err != nil {
		t.Errorf("well formed: %v", err)
	}
}

func TestPayloadOverTheLimitIsNotPut(t *testing.T) {
	t.Parallel()
	store := &shelf{}
	r := external(t, store, serialization.WithMaxDecompressed(1000))
	if _, err := r.Encode(t.Context(), strings.Repeat("x", 1001)); !errors.Is(err, serialization.ErrTooLarge) || len(store.stored) != 0 {
		t.Errorf("%v, %d payloads", err, len(store.stored))
	}
}

func TestIDOfReferencesIsTaken(t *testing.T) {
	t.Parallel()
	err := serialization.Custom(serialization.NewRegistry(), serialization.Codec[page]{
		SerializerID: serialization.IDExternal, Decode: func([]byte) (page, error) { return page{}, nil },
	})
	if err == nil {
		t.Error("a codec has the id of references")
	}
}

func FuzzParseReference(f *testing.F) {
	f.Add([]byte(`{"external_payload":"ABCDEFGHIJKLMNOPQRSTUVWXYZ","bytes":3,"sha256":"` + strings.Repeat("0f", 32) + `","serializer_id":20}`))
	f.Add([]byte(`{"external_payload":"`))
	f.Fuzz(func(t *testing.T, data []byte) {
		ref, err := serialization.ParseReference(data)
		if err != nil {
			return
		}
		again, err := json.Marshal(ref)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := serialization.ParseReference(again); err != nil || back != ref {
			t.Errorf("%+v was read as %+v, %v", ref, back, err)
		}
		if !bytes.HasPrefix(again, []byte(serialization.ReferencePrefix+ref.Key)) {
			t.Errorf("%s does not begin as a reference", again)
		}
	})
}
