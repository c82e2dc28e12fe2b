// Package page is what the fragments of docs/interop.md take for granted.
package page

import (
	"errors"

	"google.golang.org/protobuf/proto"

	"github.com/dynajournal/dynajournal/serialization"
)

type (
	OrderPlaced    struct{}
	OrderShipped   struct{}
	OrderCancelled struct{ proto.Message }
)
