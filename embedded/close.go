package embedded

import (
	"errors"
	"io"
)

// joinClose closes c and adds what went wrong with that to err.
func joinClose(err error, c io.Closer) error { return errors.Join(err, c.Close()) }
