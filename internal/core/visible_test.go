package core_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal"
)

// The structs that are embedded for this package add no field and no method that users can reach. A
// check of the source does not show promoted fields and methods.
func TestHandle_HiddenFromUsers(t *testing.T) {
	t.Parallel()
	for _, public := range []any{
		&dynajournal.Journal{}, &dynajournal.Writer{}, &dynajournal.Event{}, &dynajournal.Config{},
	} {
		of := reflect.TypeOf(public)
		for _, field := range reflect.VisibleFields(of.Elem()) {
			if field.IsExported() && len(field.Index) > 1 && strings.Contains(of.Elem().Field(field.Index[0]).Type.PkgPath(), "/internal/") {
				t.Errorf("%s.%s is a field of the core", of.Elem().Name(), field.Name)
			}
		}
		for field := range of.Elem().Fields() {
			if !field.Anonymous || !strings.Contains(field.Type.PkgPath(), "/internal/") {
				continue
			}
			if n := reflect.PointerTo(field.Type).NumMethod(); n > 0 {
				t.Errorf("%s embeds %v, which has %d exported methods", of.Elem().Name(), field.Type, n)
			}
		}
	}
}
