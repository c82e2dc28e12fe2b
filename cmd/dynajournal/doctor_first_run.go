package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/doctor"
)

// firstRun tries what dynajournal assumes of the service, and writes the results.
func (c *doctorCommand) firstRun(ctx context.Context, s *session) error {
	return s.tables(ctx, func(config dynajournal.Config) (err error) {
		write := s.result.write
		if c.Report != "" {
			file, failed := os.OpenFile(c.Report, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
			if failed != nil {
				return fmt.Errorf("create the report: %w", failed)
			}
			report := newOutput(file, "text", true)
			defer func() { err = errors.Join(err, report.flush(), file.Close()) }()
			write = func(r result) error { return errors.Join(s.result.write(r), report.write(r)) }
			if err := report.write(reportHeader{config.AWS.Region}); err != nil {
				return err
			}
		}
		counts := statusCounts{}
		var written error
		err = doctor.FirstRun(ctx, config, func(t doctor.Trial) {
			counts[t.Status]++
			r := checkResult{Check: t.Name, Status: t.Status, Found: withoutSecrets(t.Found), Want: t.Expected}
			written = errors.Join(written, write(r))
		})
		sum := counts.summary()
		if err := errors.Join(err, written, write(summaryResult{sum})); err != nil {
			return err
		}
		return c.judge(sum)
	})
}

// reportHeader is the first line of a report.
type reportHeader struct{ region string }

func (h reportHeader) text() string {
	return fmt.Sprintf("dynajournal %s, first run in %s at %s", buildVersion(), printable(h.region), time.Now().UTC().Format(time.RFC3339))
}

// secrets are numbers of accounts, and ids of access keys.
var secrets = regexp.MustCompile(`\b(\d{12}|(AKIA|ASIA)[A-Z0-9]{16})\b`)

// withoutSecrets replaces what a report must not show.
func withoutSecrets(text string) string { return secrets.ReplaceAllString(text, "…") }
