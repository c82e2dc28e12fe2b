package embedded

import (
	"encoding/json"
	"reflect"
	"testing"
)

// TestIndexKeysHaveTheStoredFormOfEarlierVersions compares the stored forms of keys with the forms
// in folders of versions whose indexes had one HASH and at most one RANGE attribute.
func TestIndexKeysHaveTheStoredFormOfEarlierVersions(t *testing.T) {
	for stored, key := range map[string]indexKey{
		`{"hash":"h"}`:                            {Hash: keyNames{"h"}},
		`{"hash":"h","range":"r"}`:                {Hash: keyNames{"h"}, Range: keyNames{"r"}},
		`{"hash":["h","g"],"range":["r","s"]}`:    {Hash: keyNames{"h", "g"}, Range: keyNames{"r", "s"}},
		`{"hash":["h","g"]}`:                      {Hash: keyNames{"h", "g"}},
		`{"hash":"\"quoted\"","range":["[","]"]}`: {Hash: keyNames{`"quoted"`}, Range: keyNames{"[", "]"}},
	} {
		encoded, err := json.Marshal(key)
		if err != nil || string(encoded) != stored {
			t.Errorf("%v is stored as %s, %v; want %s", key, encoded, err, stored)
		}
		var decoded indexKey
		if err := json.Unmarshal([]byte(stored), &decoded); err != nil || !reflect.DeepEqual(decoded, key) {
			t.Errorf("%s is decoded as %v, %v; want %v", stored, decoded, err, key)
		}
	}
	for _, stored := range []string{`{"hash":1}`, `{"hash":{"a":"b"}}`, `{"hash":[1]}`, `{"hash":"h","range":true}`} {
		if err := json.Unmarshal([]byte(stored), new(indexKey)); err == nil {
			t.Errorf("%s is decoded", stored)
		}
	}
}
