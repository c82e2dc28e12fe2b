// Package page is what the fragments of docs/configuration.md take for granted.
package page

import (
	"context"

	awsconfig "github.com/aws/aws-sdk-go-v2/config"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/applicationconf"
)

var ctx context.Context
