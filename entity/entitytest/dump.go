package entitytest

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
)

// dump returns a value as text, including everything that it points to. Two values are the same if
// their texts are the same, so a text from before a call shows what the call has changed.
func dump[T any](value T) string {
	d := dumper{open: map[visit]bool{}}
	d.write(reflect.ValueOf(&value).Elem())
	return d.text.String()
}

// dumpAll returns values as text, one after the other.
func dumpAll[T any](values []T) string {
	if len(values) == 0 {
		return "nothing"
	}
	texts := make([]string, len(values))
	for i, value := range values {
		texts[i] = dump(value)
	}
	return strings.Join(texts, ", ")
}

func same[T any](a, b T) bool { return dump(a) == dump(b) }

// visit is a pointer, slice or map that is being written.
type visit struct {
	at   uintptr
	kind reflect.Type
}

type dumper struct {
	text strings.Builder
	// open has the pointers, slices and maps that are being written, so that a cycle ends.
	open map[visit]bool
}

func (d *dumper) write(v reflect.Value) {
	if d.writeWhole(v) {
		return
	}
	switch v.Kind() {
	case reflect.Invalid:
		d.text.WriteString("nil")
	case reflect.Interface:
		d.writeTyped(v.Elem())
	case reflect.Pointer:
		if d.enter(v) {
			d.text.WriteByte('&')
			d.write(v.Elem())
			d.leave(v)
		}
	case reflect.Struct:
		d.writeStruct(v)
	case reflect.Array:
		d.writeList(v)
	case reflect.Slice:
		if v.Len() == 0 {
			d.text.WriteString("[]")
		} else if d.enter(v) {
			d.writeList(v)
			d.leave(v)
		}
	case reflect.Map:
		if d.enter(v) {
			d.writeMap(v)
			d.leave(v)
		}
	case reflect.String:
		d.text.WriteString(strconv.Quote(v.String()))
	default:
		fmt.Fprintf(&d.text, "%v", v) // also prints unexported values, because v is a reflect.Value
	}
}

// writeTyped writes a value of an interface with its type. Structs are written with their type
// anyway.
func (d *dumper) writeTyped(v reflect.Value) {
	if !v.IsValid() || v.Kind() == reflect.Struct {
		d.write(v)
		return
	}
	fmt.Fprintf(&d.text, "%s(", v.Type())
	d.write(v)
	d.text.WriteByte(')')
}

// writeWhole writes a value that can't be compared by its fields: a time or a protobuf message. It
// reports false for other values.
func (d *dumper) writeWhole(v reflect.Value) bool {
	if !v.IsValid() || !v.CanInterface() {
		return false
	}
	switch value := v.Interface().(type) {
	case time.Time:
		d.text.WriteString(value.UTC().Format(time.RFC3339Nano))
	case proto.Message:
		if v.Kind() != reflect.Pointer || v.IsNil() {
			return false
		}
		encoded, err := proto.MarshalOptions{Deterministic: true, AllowPartial: true}.Marshal(value)
		fmt.Fprintf(&d.text, "%s{%v %x %v}", v.Type(), value, encoded, err)
	default:
		return false
	}
	return true
}

func (d *dumper) writeStruct(v reflect.Value) {
	d.text.WriteString(v.Type().String())
	d.text.WriteByte('{')
	for i := range v.NumField() {
		if i > 0 {
			d.text.WriteString(", ")
		}
		d.text.WriteString(v.Type().Field(i).Name)
		d.text.WriteString(": ")
		d.write(v.Field(i))
	}
	d.text.WriteByte('}')
}

func (d *dumper) writeList(v reflect.Value) {
	d.text.WriteByte('[')
	for i := range v.Len() {
		if i > 0 {
			d.text.WriteByte(' ')
		}
		d.write(v.Index(i))
	}
	d.text.WriteByte(']')
}

func (d *dumper) writeMap(v reflect.Value) {
	entries := make([]string, 0, v.Len())
	for key, value := range v.Seq2() {
		entry := dumper{open: d.open}
		entry.write(key)
		entry.text.WriteByte(':')
		entry.write(value)
		entries = append(entries, entry.text.String())
	}
	slices.Sort(entries)
	d.text.WriteString("map[" + strings.Join(entries, " ") + "]")
}

// enter starts writing the contents of a pointer, slice or map. If v is nil or is already being
// written, enter writes that instead and reports false.
func (d *dumper) enter(v reflect.Value) bool {
	at := visit{v.Pointer(), v.Type()}
	switch {
	case v.IsNil():
		d.text.WriteString("nil")
	case d.open[at]:
		d.text.WriteString("<cycle>")
	default:
		d.open[at] = true
		return true
	}
	return false
}

func (d *dumper) leave(v reflect.Value) { delete(d.open, visit{v.Pointer(), v.Type()}) }
