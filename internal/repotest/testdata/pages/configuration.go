// Package page declares the names that the fragments of docs/configuration.md use.
package page

import (
	"context"
	"time"

	awsconfig "github.com/aws/aws-sdk-go-v2/config"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/applicationconf"
)

var ctx context.Context
