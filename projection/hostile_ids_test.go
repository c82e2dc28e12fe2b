package projection_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
)

// Persistence ids contain the separators of keys, and have all lengths.
func TestPersistenceIDs_Odd(t *testing.T) {
	t.Parallel()
	pids := []string{
		"a-7", "a", "a-7-", "-", "--0", "journal-P-a-0", "a/b", "a\x00b", "\x00", "\u00e4\u2028|\x01", "\U0010ffff",
		strings.Repeat("k", 1000), strings.Repeat("-", 999),
	}
	for name, source := range map[string]func(b *bundle) projection.Config{
		"swept": func(*bundle) projection.Config {
			config := fast()
			config.Source = projection.Sweep(projection.SweepOptions{Every: time.Millisecond, PerSecond: -1})
			return config
		},
		"streamed": (*bundle).streamed,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := streaming(t)
			config := source(b)
			config.Name = strings.Repeat("g", 100)
			of := strings.Repeat("p", 100)
			all := &recorder{}
			start(t, group(t, b.journal, config, projection.AtLeastOnce(of, all)))
			for i, pid := range pids {
				b.write(pid, fmt.Sprint("x", i))
			}
			for i, pid := range pids {
				b.await(config.Name+"/"+of, pid, 1)
				want(t, fmt.Sprintf("%.20q", pid), all.of(pid), fmt.Sprintf("1 x%d", i))
			}
		})
	}
}

// Several journals are in the same tables, with groups of the same name. Their names and
// persistence ids contain each other.
func TestJournalsInTheSameTables(t *testing.T) {
	t.Parallel()
	b := streaming(t)
	names := []string{"journal", "journal-P-x", "jour", "journal-"}
	journals, all := map[string]*dynajournal.Journal{}, map[string]*recorder{}
	for _, name := range names {
		config := b.Config
		config.JournalName = name
		if err := dynajournal.CreateTables(t.Context(), config, dynajournal.TableOptions{Projections: true}); err != nil {
			t.Fatal(err)
		}
		journals[name] = b.Journal(func(c *dynajournal.Config) { c.JournalName = name })
		all[name] = &recorder{}
		start(t, group(t, journals[name], b.streamed(), projection.AtLeastOnce("all", all[name])))
	}
	for _, name := range names {
		b.journal = journals[name]
		for _, pid := range []string{"a", "y-P-a", "-P-a"} {
			b.write(pid, "of "+name)
			b.await("group/all", pid, 1)
			want(t, name+" "+pid, all[name].of(pid), "1 of "+name)
		}
	}
	for _, name := range names {
		for _, item := range b.items("seq") {
			if par := item["par"].(*types.AttributeValueMemberS).Value; strings.HasPrefix(par, name+"\x00") && len(all[name].of(par[strings.LastIndex(par, "\x00")+1:])) == 0 {
				t.Errorf("there is a row for %q, of which nothing was handled", par)
			}
		}
	}
}

// Under another name a projection starts with the first event. The old name continues at its
// offset.
func TestProjection_RenamedStartsAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("a", "x", "y")
	for i, name := range []string{"old", "new", "old"} {
		all := &recorder{}
		g := group(t, b.journal, fast(), projection.AtLeastOnce(name, all))
		stop := start(t, g)
		until(t, "the group runs", func() bool {
			g.Trigger("a")
			return b.rowNumber("group/"+name, "a", "seq") == 2
		})
		stop()
		got := all.of("a")
		if i == 2 && len(got) > 0 || i < 2 && len(got) != 2 {
			t.Errorf("%s, %d: %q", name, i, got)
		}
	}
}
