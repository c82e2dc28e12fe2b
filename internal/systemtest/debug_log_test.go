package systemtest

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal"
)

func TestLogger_AtLevelDebugGetsTheConfigurationAndEachRequest(t *testing.T) {
	t.Parallel()
	engine := openEngine(t)
	config := dynajournal.Config{AWS: engine.AWSConfig()}
	createTables(t, config, kinds["native"])
	config.Endpoint = "http://user:secret@engine.example"
	for level, logged := range map[slog.Level]bool{slog.LevelDebug: true, slog.LevelInfo: false} {
		var log bytes.Buffer
		config.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: level}))
		openJournal(t, config)
		for _, record := range []string{"event=journal.opened journal_name=journal", "event=journal.request operation=GetItem"} {
			if strings.Contains(log.String(), record) != logged {
				t.Errorf("at %s, the log has %s: %t\n%s", level, record, !logged, log.String())
			}
		}
		if strings.Contains(log.String(), "secret") {
			t.Errorf("the log has the password:\n%s", log.String())
		}
	}
}
