package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/cmd/dynajournal/internal/pluginconfig"
	"github.com/dynajournal/dynajournal/embedded"
)

// where are the flags that say where the journal is. What is not set by a flag or the environment is what --config says.
type where struct {
	Endpoint string `xor:"place" placeholder:"URL" help:"Endpoint of DynamoDB or of what speaks like it ($DYNAJOURNAL_ENDPOINT, $AWS_ENDPOINT_URL_DYNAMODB)."`
	Data     string `xor:"place" placeholder:"DIR" help:"Folder of the embedded engine ($DYNAJOURNAL_DATA). Default: dynajournal in $XDG_STATE_HOME."`
	Memory   bool   `xor:"place" help:"Embedded engine in memory: empty at the start, gone at the end."`
	AWS      bool   `xor:"place" name:"aws" help:"DynamoDB of AWS, with the credentials and the region that the AWS SDK finds."`
	Region   string `placeholder:"R" help:"Region. Default: us-east-1 with an endpoint, else what the AWS SDK finds ($AWS_REGION)."`

	JournalTable   string `placeholder:"NAME" help:"Table of events. Default: pekko-persistence ($DYNAJOURNAL_JOURNAL_TABLE)."`
	SnapshotTable  string `placeholder:"NAME" help:"Table of snapshots. Default: pekko-persistence-snapshot ($DYNAJOURNAL_SNAPSHOT_TABLE)."`
	JournalName    string `placeholder:"NAME" help:"Name of the journal, the first part of its keys. Default: journal ($DYNAJOURNAL_JOURNAL_NAME)."`
	SequenceShards string `placeholder:"N" help:"Shards of the marks. Default: what the journal's header says, else 10 ($DYNAJOURNAL_SEQUENCE_SHARDS)."`
	Layout         string `enum:"${enum_layouts}" default:"current" placeholder:"L" help:"One of ${layouts}. The help of migrate says what is possible on the older ones."`
	Config         string `placeholder:"FILE" help:"An application.conf with the plug-ins' keys; flags win over it ($DYNAJOURNAL_CONFIG)."`

	profile    string // of the AWS SDK; its default if it is empty
	allowOlder bool   // the command works on the older layouts
}

// Layouts that there are. Those after the first two are older ones.
const (
	layoutCurrent = "current"
	layoutPay     = "pay"
)

var layouts = []string{layoutCurrent, layoutPay, "hash-key", "hash-key-unprefixed", "naive", "naive-processor"}

// place is where a journal is, opened.
type place struct {
	config dynajournal.Config
	// engine is nil if the journal is not on an embedded one.
	engine *embedded.Engine
}

// joinClosing adds what went wrong with closing an engine to the error of what it was used for. A
// storage that has failed says the same again when it is closed.
func joinClosing(err, closing error) error {
	if errors.Is(err, embedded.ErrStorageFailed) {
		return err
	}
	return errors.Join(err, closing)
}

func (p *place) close() error {
	if p.engine == nil {
		return nil
	}
	return p.engine.Close()
}

// settle fills in what is not set by a flag, first from the environment, then from the file, whose other settings it
// returns. If nobody says where, it is in the default folder.
func (w *where) settle() (dynajournal.Config, error) {
	c, err := w.settleGiven()
	if err == nil && !w.placed() {
		w.Data, err = defaultFolder()
	}
	return c, err
}

// settleGiven is settle without a default of where.
func (w *where) settleGiven() (dynajournal.Config, error) {
	_, file, err := w.plugins()
	if err != nil {
		return file.Config, err
	}
	if w.isOlder() && !w.allowOlder {
		return file.Config, usagef("it does not work on --layout %s: migrate the journal first, or use append, events, highest, ids, list, delete, confirm or tables",
			w.Layout)
	}
	if !w.placed() {
		w.Endpoint = first(os.Getenv("DYNAJOURNAL_ENDPOINT"), os.Getenv("AWS_ENDPOINT_URL_DYNAMODB"))
	}
	if !w.placed() {
		w.Data = os.Getenv("DYNAJOURNAL_DATA")
	}
	if !w.placed() {
		w.Endpoint = file.Config.Endpoint
	}
	w.Region = first(w.Region, os.Getenv("AWS_REGION"), file.Region)
	c := file.Config
	c.Endpoint = w.Endpoint
	c.OldSnapshotFormat, c.OldEventFormat = w.Layout == layoutPay, w.Layout == layoutPay
	c.JournalTable = first(w.JournalTable, os.Getenv("DYNAJOURNAL_JOURNAL_TABLE"), c.JournalTable)
	c.SnapshotTable = first(w.SnapshotTable, os.Getenv("DYNAJOURNAL_SNAPSHOT_TABLE"), c.SnapshotTable)
	c.JournalName = first(w.JournalName, os.Getenv("DYNAJOURNAL_JOURNAL_NAME"), c.JournalName)
	if shards := first(w.SequenceShards, os.Getenv("DYNAJOURNAL_SEQUENCE_SHARDS")); shards != "" {
		if c.SequenceShards, err = strconv.Atoi(shards); err != nil {
			return c, usagef("the number of sequence shards: %w", err)
		}
	}
	return c, nil
}

// plugins reads the configuration of the JVM's plug-ins. It returns the file's name too, which is
// empty if none is given.
func (w *where) plugins() (path string, file pluginconfig.Settings, err error) {
	if path = first(w.Config, os.Getenv("DYNAJOURNAL_CONFIG")); path == "" {
		return "", file, nil
	}
	if file, err = pluginconfig.Read(path); err != nil {
		return path, file, &usageError{err}
	}
	return path, file, nil
}

func (w *where) placed() bool { return w.Endpoint != "" || w.Data != "" || w.Memory || w.AWS }

// named is the place in words, once it is settled.
func (w *where) named() string {
	return first(w.Endpoint, w.Data, "AWS") + " " + first(w.profile, w.Region, "default")
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// defaultFolder is where data is if nobody says where.
func defaultFolder() (string, error) {
	state := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) { // relative ones are to be ignored
		home, err := os.UserHomeDir()
		if err != nil {
			return "", usagef("find a folder for the data: %w: set --data", err)
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "dynajournal"), nil
}

// open opens the place that the flags name, an embedded engine with options. Log records go to logs.
func (w *where) open(ctx context.Context, logs io.Writer, options ...embedded.Option) (*place, error) {
	c, err := w.settle()
	if err != nil {
		return nil, err
	}
	if c.LogConfig || c.Tracing {
		c.Logger = slog.New(slog.NewTextHandler(logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	p := &place{config: c}
	switch {
	case w.Memory:
		p.engine, err = embedded.OpenMemory(options...)
	case w.Data != "":
		p.engine, err = embedded.Open(w.Data, options...)
	default:
		p.config.AWS, err = w.aws(ctx, c.Endpoint)
	}
	if err != nil {
		return nil, err
	}
	if p.engine != nil {
		p.config.AWS = p.engine.AWSConfig()
		p.config.AccessKeyID, p.config.SecretAccessKey = "", ""
	}
	return p, nil
}

// openEngine opens the embedded engine that the flags name.
func (w *where) openEngine(ctx context.Context, logs io.Writer, options ...embedded.Option) (*embedded.Engine, error) {
	p, err := w.open(ctx, logs, options...)
	if err != nil {
		return nil, err
	}
	if p.engine == nil {
		return nil, usagef("it works on the embedded engine only: use --data or --memory")
	}
	return p.engine, nil
}

const defaultRegion = "us-east-1"

// aws is the SDK's configuration for an endpoint, or for AWS if there is none.
func (w *where) aws(ctx context.Context, endpoint string) (aws.Config, error) {
	region := w.Region
	if endpoint != "" {
		host := hostOf(endpoint)
		region = first(region, regionOf(host), defaultRegion)
		if !ofAWS(host) && w.profile == "" && !credentialsSet() {
			return aws.Config{Region: region, Credentials: aws.CredentialsProviderFunc(dummyCredentials)}, nil
		}
	}
	var options []func(*awsconfig.LoadOptions) error
	if region != "" {
		options = append(options, awsconfig.WithRegion(region))
	}
	if w.profile != "" {
		options = append(options, awsconfig.WithSharedConfigProfile(w.profile))
	}
	c, err := awsconfig.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return c, usagef("load the configuration of the AWS SDK: %w", err)
	}
	if c.Region == "" {
		return c, &usageError{errors.New("there is no region: set --region")}
	}
	return c, nil
}

func hostOf(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

func ofAWS(host string) bool {
	return strings.HasSuffix(host, ".amazonaws.com") || strings.HasSuffix(host, ".amazonaws.com.cn")
}

// regionOf is the region that an endpoint of AWS, dynamodb.<region>.amazonaws.com, is in.
func regionOf(host string) string {
	const service, region = 0, 1
	labels := strings.Split(host, ".")
	if !ofAWS(host) || len(labels) <= region || labels[service] != "dynamodb" || labels[region] == "amazonaws" {
		return ""
	}
	return labels[region]
}

// credentialsSet says whether the environment names credentials of AWS, in any of the SDK's ways.
func credentialsSet() bool {
	for _, name := range []string{
		"AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE",
		"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
	} {
		if os.Getenv(name) != "" {
			return true
		}
	}
	return false
}

// dummyCredentials sign requests to an endpoint that does not look at signatures.
func dummyCredentials(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: "dummy", SecretAccessKey: "dummy", Source: "dynajournal"}, nil
}
