//go:build !(darwin || linux || windows)

package newfile

import "errors"

func renameNew(string, string) error { return errors.ErrUnsupported }
