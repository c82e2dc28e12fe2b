package main

import (
	"fmt"
	"os"
	"reflect"

	"github.com/dynajournal/dynajournal/applicationconf"
)

// sources maps the field name of a setting to the setting's source.
type sources map[string]string

// variables are names of environment variables. The first one that is not empty counts.
type variables []string

// sourcesOf returns the sources of the settings that flags or a file set.
func sourcesOf(l *location, file map[string]applicationconf.Origin) sources {
	all := sources{}
	for field, origin := range file {
		all[field] = origin.File
		if origin.Line > 0 {
			all[field] = fmt.Sprintf("%s:%d, %s", origin.File, origin.Line, origin.Key)
		}
	}
	flags := reflect.ValueOf(l).Elem()
	for i := range flags.NumField() {
		field := flags.Type().Field(i)
		isDefault := flags.Field(i).IsZero() || field.Tag.Get("default") == fmt.Sprint(flags.Field(i))
		if field.IsExported() && !isDefault {
			all[field.Name] = "--" + settingKey(field)
		}
	}
	if all["Config"] == "" && os.Getenv("DYNAJOURNAL_CONFIG") != "" {
		all["Config"] = "$DYNAJOURNAL_CONFIG"
	}
	if l.Layout == layoutPay {
		all["OldSnapshotFormat"], all["OldEventFormat"] = all["Layout"], all["Layout"]
	}
	return all
}

// first returns the value of a field from the flag, else from the environment, else from the file.
// It records the source if that is the environment.
func (s sources) first(field, flag string, names variables, file string) string {
	if flag != "" {
		return flag
	}
	for _, name := range names {
		if value := os.Getenv(name); value != "" {
			s[field] = "$" + name
			return value
		}
	}
	return file
}

// of returns the source of a field.
func (s sources) of(field string) string { return first(s[field], byDefault) }

// byDefault is the source of a setting that is not set.
const byDefault = "default"
