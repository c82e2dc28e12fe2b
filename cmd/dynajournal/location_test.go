package main

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
)

func TestLocation_FlagsEnvironmentAndFile(t *testing.T) {
	conf := filepath.Join(t.TempDir(), "application.conf")
	text := `dynamodb-journal { endpoint = "http://file:1", journal-table = file-table, journal-name = file-name, sequence-shards = 5 }`
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	keys, region := filepath.Join(t.TempDir(), "application.conf"), filepath.Join(t.TempDir(), "application.conf")
	for path, text := range map[string]string{
		keys:   "dynamodb-journal {\n aws-access-key-id = a, aws-secret-access-key = b }",
		region: "dynamodb-journal.region = eu-west-1",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const endpoint, endpointAWS, folder = "DYNAJOURNAL_ENDPOINT", "AWS_ENDPOINT_URL_DYNAMODB", "DYNAJOURNAL_DATA"
	type variables map[string]string
	for name, c := range map[string]struct {
		flags       location
		environment variables
		endpoint    string
		data        string
		aws         string // the source of the setting aws
	}{
		"by default in the folder of the user's state": {data: "/state/dynajournal"},
		"AWS by a Region":                                {flags: location{Region: "eu-west-1"}, aws: "--region"},
		"AWS by the environment's Region":                {environment: variables{"AWS_REGION": "eu-west-1"}, aws: "$AWS_REGION"},
		"AWS by credentials of the environment":          {environment: variables{"AWS_PROFILE": "p"}, aws: "$AWS_PROFILE"},
		"AWS by the file's keys":                         {flags: location{Config: keys}, aws: keys + ":2, dynamodb-journal.aws-access-key-id"},
		"AWS by the file's Region":                       {flags: location{Config: region}, aws: region + ":1, dynamodb-journal.region"},
		"a folder that is given before the file's keys":  {flags: location{Config: keys, Data: "/flag"}, data: "/flag"},
		"a folder of the environment before that of AWS": {environment: variables{"AWS_REGION": "eu-west-1", folder: "/env"}, data: "/env"},
		"the command's engine whatever the environment": {flags: location{engineOnly: true},
			environment: variables{"AWS_REGION": "eu-west-1"}, data: "/state/dynajournal"},
		"in the folder of the environment": {environment: variables{folder: "/env"}, data: "/env"},
		"at the endpoint of the environment": {environment: variables{endpoint: "http://env",
			folder: "/env"}, endpoint: "http://env"},
		"at the endpoint of the AWS environment": {environment: variables{endpointAWS: "http://aws"},
			endpoint: "http://aws"},
		"ours before that of AWS": {environment: variables{endpointAWS: "http://aws",
			endpoint: "http://env"}, endpoint: "http://env"},
		"at the endpoint of all of AWS": {environment: variables{"AWS_ENDPOINT_URL": "http://all",
			folder: "/env"}, endpoint: "http://all"},
		"the endpoint of DynamoDB before that of all of AWS": {environment: variables{"AWS_ENDPOINT_URL": "http://all",
			endpointAWS: "http://aws"}, endpoint: "http://aws"},
		"a folder that is given before an environment": {flags: location{Data: "/flag"},
			environment: variables{endpoint: "http://env"}, data: "/flag"},
		"memory that is asked for": {flags: location{Memory: true},
			environment: variables{endpoint: "http://env"}},
		"an endpoint that is given": {flags: location{Endpoint: "http://flag"},
			environment: variables{folder: "/env"}, endpoint: "http://flag"},
		"at the endpoint of the file": {flags: location{Config: conf}, endpoint: "http://file:1"},
		"a flag before the file":      {flags: location{Config: conf, Data: "/flag"}, data: "/flag"},
		"the environment before the file": {environment: variables{"DYNAJOURNAL_CONFIG": conf,
			folder: "/env"}, data: "/env"},
	} {
		t.Run(name, func(t *testing.T) {
			clean(t)
			t.Setenv("XDG_STATE_HOME", "/state")
			for key, value := range c.environment {
				t.Setenv(key, value)
			}
			w := c.flags
			w.Layout = layoutCurrent
			config, err := w.resolve()
			if err != nil || config.Endpoint != c.endpoint || w.Data != c.data {
				t.Errorf("endpoint %q, folder %q, %v; want %q, %q", config.Endpoint, w.Data, err, c.endpoint, c.data)
			}
			if w.AWS != (c.aws != "") || w.sources["AWS"] != c.aws {
				t.Errorf("AWS %v by %q, want %q", w.AWS, w.sources["AWS"], c.aws)
			}
		})
	}
	t.Run("names are taken from flag, environment and file in this order", func(t *testing.T) {
		clean(t)
		t.Setenv("DYNAJOURNAL_JOURNAL_NAME", "env-name")
		t.Setenv("DYNAJOURNAL_SEQUENCE_SHARDS", "6")
		t.Setenv("DYNAJOURNAL_SNAPSHOT_TABLE", "env-snapshots")
		w := location{Layout: layoutCurrent, Config: conf, JournalName: "flag-name"}
		c, err := w.resolve()
		if err != nil || c.JournalName != "flag-name" || c.SequenceShards != 6 ||
			c.SnapshotTable != "env-snapshots" || c.JournalTable != "file-table" {
			t.Errorf("%+v, %v", c, err)
		}
	})
	t.Run("without a state folder below the home", func(t *testing.T) {
		clean(t)
		t.Setenv("XDG_STATE_HOME", "relative")
		t.Setenv("HOME", "/home/someone")
		if got, err := defaultFolder(); err != nil || got != "/home/someone/.local/state/dynajournal" {
			t.Errorf("%q, %v", got, err)
		}
	})
}

func TestCredentialsAndRegion(t *testing.T) {
	type variables map[string]string
	mine := variables{"AWS_ACCESS_KEY_ID": "mine", "AWS_SECRET_ACCESS_KEY": "s"}
	for name, c := range map[string]struct {
		endpoint    string
		flags       location
		environment variables
		region, key string
	}{
		"an endpoint without credentials gets dummies": {endpoint: "http://localhost:8000", region: "us-east-1",
			key: "dummy"},
		"the region of a flag": {endpoint: "http://localhost:8000",
			flags: location{Region: "eu-west-3"}, region: "eu-west-3", key: "dummy"},
		"credentials of the environment": {endpoint: "http://localhost:8000", environment: mine,
			region: "us-east-1", key: "mine"},
		"an endpoint of AWS says its region": {endpoint: "https://dynamodb.eu-west-1.amazonaws.com",
			environment: mine, region: "eu-west-1", key: "mine"},
		"AWS takes the SDK's own": {flags: location{Region: "eu-west-2"}, environment: mine,
			region: "eu-west-2", key: "mine"},
	} {
		t.Run(name, func(t *testing.T) {
			clean(t)
			t.Setenv("AWS_CONFIG_FILE", "/does/not/exist")
			t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/does/not/exist")
			for key, value := range c.environment {
				t.Setenv(key, value)
			}
			got, err := c.flags.aws(t.Context(), c.endpoint)
			if err != nil {
				t.Fatal(err)
			}
			credentials, err := got.Credentials.Retrieve(t.Context())
			if err != nil || got.Region != c.region || credentials.AccessKeyID != c.key {
				t.Errorf("region %q, key %q, %v; want %q, %q", got.Region, credentials.AccessKeyID, err, c.region,
					c.key)
			}
		})
	}
}

func TestLocation_PlugInConfiguration(t *testing.T) {
	clean(t)
	conf := filepath.Join(t.TempDir(), "application.conf")
	text := "dynamodb-journal { journal-table = theirs, sequence-shards = 4 }\ndynamodb-snapshot-store.snapshot-table = snaps"
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got := must(t, "--config", conf, "tables", "create", "--shared-with-jvm")
	if got[0]["table"] != "theirs" || got[0]["shards"] != 4.0 || got[1]["table"] != "snaps" {
		t.Errorf("%v", got)
	}
	must(t, "--config", conf, "append", "a", "--string", "x")
	if got := must(t, "--journal-table", "theirs", "highest", "a")[0]; got["highest"] != 1.0 {
		t.Errorf("%v", got)
	}
}

// TestLocation_BrokenFileStopsCommand appends with files that do not identify a journal. The
// command must not write to the default folder instead.
func TestLocation_BrokenFileStopsCommand(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"a misspelt section": {"dynamodb-jornal { endpoint = \"http://localhost:1\" }",
			":1: dynamodb-jornal is not known; did you mean dynamodb-journal?"},
		"a misspelt key": {"dynamodb-journal {\n  endpont = \"http://localhost:1\"\n}",
			":2: dynamodb-journal.endpont is not known; did you mean endpoint?"},
		"no section": {"", "there is no section dynamodb-journal"},
		"another client for snapshots": {
			"dynamodb-journal {}\ndynamodb-snapshot-store.endpoint = \"http://localhost:1\"", ":2: dynamodb-snapshot-store.endpoint",
		},
	} {
		t.Run(name, func(t *testing.T) {
			clean(t)
			state := t.TempDir()
			t.Setenv("XDG_STATE_HOME", state)
			conf := filepath.Join(t.TempDir(), "application.conf")
			if err := os.WriteFile(conf, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{
				{"--config", conf, "append", "a", "--string", "x"},
				{"--config", conf, "--memory", "highest", "a"},
				{"--config", conf, "tables", "describe"},
			} {
				o := invoke(t.Context(), "", args...)
				if o.status != statusUsage || o.out != "" || strings.Count(o.err, "\n") != 1 ||
					!strings.HasPrefix(o.err, "dynajournal: ") || !strings.Contains(o.err, conf) || !strings.Contains(o.err, c.want) {
					t.Errorf("%q ended with %d, %q, %q", args, o.status, o.out, o.err)
				}
			}
			if left, err := os.ReadDir(state); err != nil || len(left) != 0 {
				t.Errorf("the folder of the user's state has %v, %v", left, err)
			}
		})
	}
}

// TestLocation_ClientSettingsOfFile connects from the local address in the file, with
// credentials from the environment: to an endpoint, and to AWS's endpoint through a proxy.
func TestLocation_ClientSettingsOfFile(t *testing.T) {
	local := "127.0.0.1"
	if runtime.GOOS == "linux" {
		local = "127.0.0.3" // on Linux all of 127.0.0.0/8 is local
	}
	for name, c := range map[string]struct {
		keys, asked string
		flags       []string
	}{
		"an endpoint": {"endpoint = \"http://%[1]s\"", "", nil},
		"AWS": {
			"aws-client-config { proxy-host = %[2]s, proxy-port = %[3]s, max-error-retry = 0 }",
			"dynamodb.eu-central-1.amazonaws.com:443", []string{"--aws", "--region", "eu-central-1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			clean(t)
			for name, value := range map[string]string{
				"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
			} {
				t.Setenv(name, value)
			}
			var from, asked atomic.Value
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				host, _, _ := net.SplitHostPort(r.RemoteAddr)
				from.Store(host)
				if asked.Store(""); r.Method == http.MethodConnect {
					asked.Store(r.Host)
				}
				w.WriteHeader(http.StatusForbidden)
			}))
			defer server.Close()
			address := server.Listener.Addr().String()
			host, port, _ := net.SplitHostPort(address)
			conf := filepath.Join(t.TempDir(), "application.conf")
			text := "dynamodb-journal {\n" + fmt.Sprintf(c.keys+"%.0[1]s%.0[2]s%.0[3]s", address, host, port) +
				"\naws-client-config { local-address = " + local + ", max-error-retry = 0 }\n}"
			if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			o := invoke(t.Context(), "", append(c.flags, "--config", conf, "highest", "a")...)
			if o.status != statusFailed || from.Load() != local || asked.Load() != c.asked {
				t.Errorf("it ended with %d, %s; a request came from %v and asked for %q", o.status, o.err,
					from.Load(), asked.Load())
			}
		})
	}
}

// Without credentials a command fails with one line. config works without credentials, because it
// sends nothing.
func TestLocation_MissingCredentials(t *testing.T) {
	clean(t)
	for name, value := range map[string]string{
		"AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
	} {
		t.Setenv(name, value)
	}
	o := invoke(t.Context(), "", "--aws", "--region", "us-east-1", "ids")
	const want = "dynajournal: ids: no AWS credentials found: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE: "
	if o.status != statusUsage || !strings.HasPrefix(o.err, want) || strings.Count(o.err, "\n") != 1 {
		t.Errorf("it ended with %d, %q", o.status, o.err)
	}
	must(t, "--aws", "--region", "us-east-1", "config")
}

func TestTracingOfTheFileLogsEachRequest(t *testing.T) {
	clean(t)
	conf := filepath.Join(t.TempDir(), "application.conf")
	for text, logged := range map[string]bool{"tracing = on": true, "log-config = on": true, "tracing = off": false} {
		if err := os.WriteFile(conf, []byte("dynamodb-journal { "+text+" }"), 0o600); err != nil {
			t.Fatal(err)
		}
		o := invoke(t.Context(), "", "tables", "create", "--memory", "--config", conf)
		if o.status != statusDone || strings.Contains(o.err, "event=journal.request operation=CreateTable") != logged {
			t.Errorf("%s: %+v", text, o)
		}
	}
}
