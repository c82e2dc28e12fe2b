// Command leftovers lists the objects in S3 that no event, snapshot or durable state refers to.
// With -remove, it also removes them.
//
//	leftovers -bucket my-bucket -prefix payloads/ -config application.conf
//
// It takes the journal's configuration from an application.conf (-config), or uses the default
// table names. Region and credentials come from where the AWS SDK finds them. It prints each
// leftover as a JSON object on a line of stdout, and prints how much it has read, and the cost, to
// stderr. The exit status is 0 for success, 1 for a failure, and 2 for wrong flags.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/applicationconf"
	"github.com/dynajournal/dynajournal/payloads"
	"github.com/dynajournal/dynajournal/payloads/s3payloads"
)

// flags has the values of the command's flags.
type flags struct {
	bucket, prefix, s3Endpoint, config, endpoint, region, tables string
	minAge                                                       time.Duration
	remove                                                       bool
}

// leftover is a line of the output.
type leftover struct {
	Key     string    `json:"key"`
	Bytes   int64     `json:"bytes"`
	Time    time.Time `json:"time"`
	Removed bool      `json:"removed"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run runs a command line, and returns the exit status.
func run(ctx context.Context, args []string, out, messages io.Writer) int {
	const failed, wrong = 1, 2
	f, err := parse(args, messages)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		_, _ = fmt.Fprintf(messages, "leftovers: %v\n", err)
		return wrong
	}
	if err := f.run(ctx, out, messages); err != nil {
		_, _ = fmt.Fprintf(messages, "leftovers: %v\n", err)
		return failed
	}
	return 0
}

// parse reads the flags.
func parse(args []string, messages io.Writer) (*flags, error) {
	var f flags
	set := flag.NewFlagSet("leftovers", flag.ContinueOnError)
	set.SetOutput(messages)
	set.StringVar(&f.bucket, "bucket", "", "bucket of the payloads (required)")
	set.StringVar(&f.prefix, "prefix", "", "common prefix of the keys of the payloads, such as payloads/")
	set.StringVar(&f.config, "config", "", "application.conf of the journal; without it the tables have the default names")
	set.StringVar(&f.tables, "tables", "", "further tables with references to the payloads, separated by commas")
	set.StringVar(&f.endpoint, "endpoint", "", "endpoint of DynamoDB; AWS's by default")
	set.StringVar(&f.s3Endpoint, "s3-endpoint", "", "endpoint of S3; AWS's by default")
	set.StringVar(&f.region, "region", "", "AWS region; by default the one that the AWS SDK finds")
	set.DurationVar(&f.minAge, "min-age", payloads.DefaultMinAge, "minimum age of a leftover; at least 1h")
	set.BoolVar(&f.remove, "remove", false, "remove the leftovers; without it they are only listed")
	if err := set.Parse(args); err != nil {
		return nil, err
	}
	switch {
	case set.NArg() > 0:
		return nil, fmt.Errorf("unexpected argument %q", set.Arg(0))
	case f.bucket == "":
		return nil, errors.New("-bucket is required")
	case f.minAge < payloads.MinMinAge:
		return nil, fmt.Errorf("-min-age is %v: it must be at least %v, because the item that refers to a younger payload may not be written yet",
			f.minAge, payloads.MinMinAge)
	}
	return &f, nil
}

// run lists the leftovers, and removes them if the flag remove is set.
func (f *flags) run(ctx context.Context, out, messages io.Writer) (err error) {
	journal, store, err := f.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, journal.Close()) }()
	opts := payloads.Options{MinAge: f.minAge}
	if f.tables != "" {
		opts.Tables = strings.Split(f.tables, ",")
	}
	found, err := payloads.Leftovers(ctx, journal, store, opts)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(messages, "%d payloads, %d younger than %v, %d leftovers; %d requests to DynamoDB, %g read units\n",
		found.Listed, found.Young, f.minAge, len(found.Leftovers), found.Cost.Requests, found.Cost.ReadUnits)
	lines := json.NewEncoder(out)
	for _, stored := range found.Leftovers {
		if f.remove {
			if err := store.Delete(ctx, stored.Key); err != nil {
				return err
			}
		}
		if err := lines.Encode(leftover{f.prefix + stored.Key, stored.Bytes, stored.Time, f.remove}); err != nil {
			return fmt.Errorf("write the result: %w", err)
		}
	}
	return nil
}

// open opens the journal and the store.
func (f *flags) open(ctx context.Context) (*dynajournal.Journal, *s3payloads.Store, error) {
	var settings applicationconf.Settings
	if f.config != "" {
		var err error
		if settings, err = applicationconf.Load(f.config); err != nil {
			return nil, nil, err
		}
	}
	region := f.region
	if region == "" {
		region = settings.Region
	}
	loaded, err := awsconfig.LoadDefaultConfig(ctx, awsconfig.WithRegion(region))
	if err != nil {
		return nil, nil, fmt.Errorf("load the configuration of the AWS SDK: %w", err)
	}
	client := s3.NewFromConfig(loaded, func(o *s3.Options) {
		if f.s3Endpoint != "" {
			o.BaseEndpoint, o.UsePathStyle = aws.String(f.s3Endpoint), true
		}
	})
	store, err := s3payloads.New(client, f.bucket, f.prefix)
	if err != nil {
		return nil, nil, err
	}
	config := settings.Config
	config.AWS = loaded
	if f.endpoint != "" {
		config.Endpoint = f.endpoint
	}
	journal, err := dynajournal.Open(ctx, config)
	return journal, store, err
}
