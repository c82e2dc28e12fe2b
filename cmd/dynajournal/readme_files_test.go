package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal/internal/testsize"
)

// pluginFile has the blocks of the plug-ins' README files, without an endpoint.
const pluginFile = `
HOST.persistence.journal.plugin = "my-dynamodb-journal"
my-dynamodb-journal = ${dynamodb-journal}
my-dynamodb-journal {
    journal-table = orders
    journal-name = shop
    aws-access-key-id = AKIDEXAMPLE
    aws-secret-access-key = hidden
}
my-dynamodb-journal.aws-client-config.max-connections = 200
HOST.persistence.snapshot-store.plugin = "my-dynamodb-snapshot-store"
my-dynamodb-snapshot-store = ${dynamodb-snapshot-store}
my-dynamodb-snapshot-store { snapshot-table = orders-snapshot, journal-name = shop }
dynamodb-read-journal {
  # persistence-ids-index-name: "persistence-ids-idx"
}
`

func fileOf(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "application.conf")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLocation_PlugInREADMEFiles(t *testing.T) {
	testsize.NoRace(t, "it does one thing after the other")
	for _, host := range []string{"akka", "pekko"} {
		t.Run(host, func(t *testing.T) {
			clean(t)
			conf := fileOf(t, strings.ReplaceAll(pluginFile, "HOST", host))
			archive := filepath.Join(t.TempDir(), "archive")
			folder := filepath.Join(t.TempDir(), "data")
			for i, command := range []string{
				"tables create --shared-with-jvm", "tables describe", "tables update", "config", "append a --string x --string y",
				"ids", "events a", "highest a", "list a", "snapshot save a --seq 1 --string s", "snapshots a", "snapshot load a",
				"snapshot delete a --max-seq 1", "verify --all", "repair --all", "export --all " + archive, "import " + archive,
				"delete a --to 1", "purge a --yes", "tables delete --yes",
			} {
				o := invoke(t.Context(), "", append(strings.Fields(command), "--config", conf, "--data", folder)...)
				if o.status != statusDone || strings.Count(o.err, "note: "+conf) != 2 || strings.Contains(o.err+o.out, "hidden") ||
					strings.Contains(o.err, "made the folder "+folder) != (i == 0) {
					t.Errorf("%s: %+v", command, o)
				}
			}
		})
	}
}

// A file for AWS never selects a local folder.
func TestLocation_FileForAWS(t *testing.T) {
	for _, text := range []string{
		pluginFile,
		"dynamodb-journal { aws-access-key-id = a, aws-secret-access-key = hidden, region = eu-central-1 }",
		"dynamodb-journal { region = eu-central-1 }",
	} {
		clean(t)
		for name, value := range map[string]string{
			"AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
		} {
			t.Setenv(name, value)
		}
		state := t.TempDir()
		t.Setenv("XDG_STATE_HOME", state)
		conf := fileOf(t, strings.ReplaceAll(text, "HOST", "pekko"))
		shown := configured(t, "--config", conf, "--region", "eu-central-1")
		if got := shown["aws"]; got.Value != "true" || got.Source == byDefault || shown["data"].Value != "" {
			t.Errorf("%+v, %+v", got, shown["data"])
		}
		o := invoke(t.Context(), "", "serve", "--config", conf)
		if o.status != statusUsage || !strings.Contains(o.err, "needs an embedded engine") {
			t.Errorf("%+v", o)
		}
		if left, err := os.ReadDir(state); err != nil || len(left) != 0 {
			t.Errorf("the folder of the user's state has %v, %v", left, err)
		}
	}
}

func TestLocation_MissingTables(t *testing.T) {
	clean(t)
	folder := t.TempDir()
	for _, command := range []string{"highest a", "tables describe", "tables delete --yes"} {
		o := invoke(t.Context(), "", append(strings.Fields(command), "--data", folder)...)
		if o.status != statusFailed || !strings.Contains(o.err, "in the folder "+folder) || strings.Count(o.err, "\n") != 1 {
			t.Errorf("%+v", o)
		}
	}
}
