package applicationconf

import (
	"reflect"

	"github.com/dynajournal/dynajournal"
)

// Origin is the position at which a file sets a field.
type Origin struct {
	// File is the file that contains the value: the loaded file, or a file that it includes.
	File string
	// Line is the line of the value, starting at 1. It is 0 if the whole file determines the value,
	// not one line, as for the table names in a file for Akka.
	Line int
	// Key is the key, such as dynamodb-journal.journal-table. It is empty if Line is 0.
	Key string
}

// note records the key that sets a field of the settings.
func (r *reader) note(field any, key string) {
	path := r.section + "." + key
	at := r.At(path)
	r.origins[field] = Origin{File: at.File, Line: at.Line, Key: path}
}

// named returns the origins of the fields that were set, by field name.
func (r *reader) named(s *Settings) map[string]Origin {
	names := map[string]Origin{}
	var add func(prefix string, fields reflect.Value)
	add = func(prefix string, fields reflect.Value) {
		for i := range fields.NumField() {
			field, name := fields.Field(i), fields.Type().Field(i)
			if !name.IsExported() {
				continue
			}
			if origin, set := r.origins[field.Addr().Interface()]; set {
				names[prefix+name.Name] = origin
			}
			if name.Type == reflect.TypeFor[dynajournal.HTTPConfig]() {
				add(prefix+name.Name+".", field)
			}
		}
	}
	add("", reflect.ValueOf(&s.Config).Elem())
	if origin, set := r.origins[&s.Region]; set {
		names["Region"] = origin
	}
	return names
}
