package embedded

import (
	"errors"
	"io"
)

// joinClose closes c, and joins err with the error of Close.
func joinClose(err error, c io.Closer) error { return errors.Join(err, c.Close()) }
