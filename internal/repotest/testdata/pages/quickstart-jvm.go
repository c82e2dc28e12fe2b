// Package page is what the fragments of docs/quickstart-jvm.md take for granted.
package page

import (
	"context"
	"errors"

	awsconfig "github.com/aws/aws-sdk-go-v2/config"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/applicationconf"
	"github.com/dynajournal/dynajournal/serialization"
)

var ctx context.Context

type (
	Placed struct{}
	Sent   struct{}
)
