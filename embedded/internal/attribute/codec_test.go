package attribute_test

import (
	"testing"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
)

func TestItemsHaveTheSameValuesAfterTheBinaryForm(t *testing.T) {
	item := everyKind(t)
	data := attribute.AppendBinaryItem(nil, item)
	got, err := attribute.DecodeBinaryItem(data)
	if err != nil || !attribute.EqualItems(got, item) {
		t.Fatalf("%v, %v", got, err)
	}
	for n := range data {
		if _, err := attribute.DecodeBinaryItem(data[:n]); err == nil {
			t.Fatalf("took the first %d of %d bytes", n, len(data))
		}
	}
	if _, err := attribute.DecodeBinaryItem(append(data, 0)); err == nil {
		t.Fatal("took a byte too many")
	}
}

func TestInvalidBinaryFormsAreRefused(t *testing.T) {
	deep := []byte{1, 1, 'a'}
	for range 40 {
		deep = append(deep, byte(attribute.L), 1)
	}
	deep = append(deep, byte(attribute.NULL))
	for name, data := range map[string][]byte{
		"no count":           {},
		"count beyond input": {0xFF, 0xFF, 0xFF, 0xFF, 0x0F},
		"long zero":          {0x80, 0x00},
		"overflow":           {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x02},
		"unknown kind":       {1, 1, 'a', 99},
		"too deep":           deep,
	} {
		if item, err := attribute.DecodeBinaryItem(data); err == nil {
			t.Errorf("%s: %v", name, item)
		}
	}
}

func FuzzDecodeBinaryItem(f *testing.F) {
	f.Add(attribute.AppendBinaryItem(nil, attribute.Item{"a": attribute.String("b"), "l": attribute.List(attribute.Null())}))
	f.Fuzz(func(t *testing.T, data []byte) {
		item, err := attribute.DecodeBinaryItem(data)
		if err != nil {
			return
		}
		again, err := attribute.DecodeBinaryItem(attribute.AppendBinaryItem(nil, item))
		if err != nil || !attribute.EqualItems(item, again) {
			t.Fatalf("%v → %v, %v", item, again, err)
		}
	})
}
