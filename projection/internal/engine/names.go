package engine

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxNameBytes is the maximum length of the name of a group or of a projection.
const maxNameBytes = 100

// CheckName checks the name of a group or of a projection.
func CheckName(field, name string) error {
	switch {
	case name == "":
		return Argument(field, name, "it is empty")
	case len(name) > maxNameBytes:
		return Argument(field, name, fmt.Sprintf("it has more than %d bytes", maxNameBytes))
	case !utf8.ValidString(name):
		return Argument(field, name, "it is not valid UTF-8")
	case strings.ContainsAny(name, "/\x00"):
		return Argument(field, name, "it must not contain a slash or a NUL")
	}
	return nil
}
