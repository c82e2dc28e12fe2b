// Package page declares the names that the fragments of docs/jvm.md use.
package page

import (
	"context"
	"errors"

	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"google.golang.org/protobuf/proto"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/applicationconf"
	"github.com/dynajournal/dynajournal/serialization"
)

var ctx context.Context

type (
	Placed         struct{}
	Sent           struct{}
	OrderPlaced    struct{}
	OrderShipped   struct{}
	OrderCancelled struct{ proto.Message }
)
