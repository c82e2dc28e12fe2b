package layout_test

import (
	"errors"
	"maps"
	"reflect"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/layout"
)

// states are states and the items that they are stored as.
func states() map[string]struct {
	state layout.State
	item  layout.Attributes
} {
	head := layout.Attributes{
		"par": text("journal-ST-session|anna"), "seq": number("-1"), "ver": number("7"), "writers": binary("writers"), "time": number("5"),
	}
	with := func(more layout.Attributes) layout.Attributes {
		item := maps.Clone(head)
		maps.Copy(item, more)
		return item
	}
	base := layout.State{PersistenceID: "session|anna", Version: 7, Writers: []byte("writers"), Time: 5}
	whole, split, purged := base, base, base
	whole.SerializerID, whole.Manifest, whole.Bytes, whole.IDs = 20, "m", []byte("value"), []byte("ids")
	split.SerializerID, split.Parts, split.PartsVersion, split.Token = 20, 3, 6, 9
	split.Stored, split.Sum = 2000, []byte("sum")
	purged.Purged = true
	return map[string]struct {
		state layout.State
		item  layout.Attributes
	}{
		"whole": {whole, with(layout.Attributes{
			"ser_id": number("20"), "ser_manifest": text("m"), "pay_data": binary("value"), "ids": binary("ids"),
		})},
		"split": {split, with(layout.Attributes{
			"ser_id": number("20"), "split_parts": number("3"), "parts_ver": number("6"), "split_token": number("9"),
			"split_bytes": number("2000"), "split_sha256": binary("sum"),
		})},
		"purged": {purged, with(layout.Attributes{"expires": number("253402300799")})},
	}
}

func TestEncodeState_AsDocumented(t *testing.T) {
	t.Parallel()
	for name, c := range states() {
		if got := shared.EncodeState(&c.state); !reflect.DeepEqual(got, c.item) {
			t.Errorf("%s: the item is %v, want %v", name, got, c.item)
		}
		if got, err := shared.DecodeState("session|anna", c.item); err != nil || !reflect.DeepEqual(*got, c.state) {
			t.Errorf("%s: decoded as %+v, %v; want %+v", name, got, err, c.state)
		}
	}
	part := layout.Attributes{
		"par": text("journal-ST-session|anna"), "seq": number("-700000000000900002"), "split_data": binary("data"),
	}
	if got := shared.EncodeStatePart("session|anna", 7, 9, 2, []byte("data")); !reflect.DeepEqual(got, part) {
		t.Errorf("the part is %v, want %v", got, part)
	}
}

// An earlier version has let purged states expire.
func TestDecodeState_PurgedWithExpiry(t *testing.T) {
	t.Parallel()
	item := states()["purged"].item
	item["expires"] = number("1000")
	if s, err := shared.DecodeState("session|anna", item); err != nil || !s.Purged || !s.Expiring || s.Version != 7 {
		t.Errorf("decoded as %+v, %v", s, err)
	}
}

// The error of an item without one of its attributes, or with an attribute of another type, names
// the attribute.
func TestDecodeState_DamagedAttribute(t *testing.T) {
	t.Parallel()
	optional := map[string]bool{"par": true, "seq": true, "ids": true, "ser_manifest": true, "expires": true, "split_parts": true}
	for name, c := range states() {
		for attribute := range c.item {
			if attribute == "par" || attribute == "seq" {
				continue
			}
			for _, missing := range []bool{true, false} {
				item := maps.Clone(c.item)
				if delete(item, attribute); !missing {
					item[attribute] = &types.AttributeValueMemberBOOL{Value: true}
				} else if optional[attribute] {
					continue
				}
				_, err := shared.DecodeState("session|anna", item)
				if damaged, ok := errors.AsType[*layout.ItemError](err); !ok || damaged.Attribute != attribute {
					t.Errorf("%s, %s, missing %v: %v", name, attribute, missing, err)
				}
			}
		}
	}
}
