package applicationconf_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal/applicationconf"
)

func TestError_LineKeyNearest(t *testing.T) {
	for name, c := range map[string]struct {
		text, key, nearest string
		line               int
		is                 error
	}{
		"an unknown key": {"dynamodb-journal {\n journal-tabel = a }", "dynamodb-journal.journal-tabel", "journal-table", 2, applicationconf.ErrUnknownKey},
		"a key of another group": {"dynamodb-journal.max-connections = 5", "dynamodb-journal.max-connections",
			"aws-client-config.max-connections", 1, applicationconf.ErrUnknownKey},
		"an unknown key without a similar one": {"dynamodb-journal.zzzzzz = a", "dynamodb-journal.zzzzzz", "", 1, applicationconf.ErrUnknownKey},
		"an unknown section":                   {"dynamodb-jurnal { }", "dynamodb-jurnal", "dynamodb-journal", 1, applicationconf.ErrUnknownKey},
		"no section":                           {"a = 1", "", "", 0, applicationconf.ErrNoSection},
		"a plug-in without a section": {"\npekko.persistence.journal.plugin = nowhere", "pekko.persistence.journal.plugin", "", 2,
			applicationconf.ErrNoSection},
		"a wrong value": {"\n\ndynamodb-journal.sequence-shards = many", "dynamodb-journal.sequence-shards", "", 3, nil},
		"not HOCON":     {"\ndynamodb-journal {", "", "", 2, nil},
	} {
		t.Run(name, func(t *testing.T) {
			path := write(t, c.text)
			_, err := applicationconf.Load(path)
			var wrong *applicationconf.Error
			if !errors.As(err, &wrong) {
				t.Fatalf("%v is not an *Error", err)
			}
			if wrong.File != path || wrong.Line != c.line || wrong.Key != c.key || wrong.Nearest != c.nearest {
				t.Errorf("%+v", wrong)
			}
			for _, sentinel := range []error{applicationconf.ErrUnknownKey, applicationconf.ErrNoSection} {
				if errors.Is(err, sentinel) != errors.Is(sentinel, c.is) {
					t.Errorf("%v is %v: %v", err, sentinel, !errors.Is(sentinel, c.is))
				}
			}
		})
	}
}

func TestError_IncludedFile(t *testing.T) {
	path := write(t, "\ninclude \"part\"\n")
	part := filepath.Join(filepath.Dir(path), "part.conf")
	if err := os.WriteFile(part, []byte("\n\n}"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := applicationconf.Load(path)
	var outer, inner *applicationconf.Error
	if !errors.As(err, &outer) || outer.File != path || outer.Line != 2 {
		t.Fatalf("%v", err)
	}
	if !errors.As(outer.Err, &inner) || inner.File != part || inner.Line != 3 {
		t.Errorf("%v", outer.Err)
	}
}

func TestLoad_MissingFile(t *testing.T) {
	settings, err := applicationconf.Load(filepath.Join(t.TempDir(), "application.conf"))
	if !errors.Is(err, fs.ErrNotExist) || settings.Config.JournalTable != "" {
		t.Errorf("%v", err)
	}
}

func TestError_ContainsNoSecrets(t *testing.T) {
	const secret = "hunter2"
	for _, text := range []string{
		"dynamodb-journal.aws-secret-access-key = hunter2",
		"dynamodb-journal.aws-access-key-id = hunter2",
		"dynamodb-journal.aws-secret-access-key = [hunter2]",
		"dynamodb-journal.aws-secret-access-key.a = hunter2",
		"dynamodb-snapshot-store { aws-access-key-id = hunter2, aws-secret-access-key = hunter2 }",
		"dynamodb-snapshot-store.aws-client-config.proxy-password = hunter2",
		`dynamodb-journal.aws-client-config { proxy-host = "a b:c/%", proxy-username = u, proxy-password = hunter2 }`,
	} {
		if _, err := applicationconf.Load(write(t, text)); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
