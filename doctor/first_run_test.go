package doctor_test

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/doctor"
	"github.com/dynajournal/dynajournal/embedded"
)

// newEngine opens an engine, and returns a function that fails the test if a table is left.
func newEngine(t *testing.T) (*embedded.Engine, dynajournal.Config, func()) {
	t.Helper()
	engine, err := embedded.OpenMemory(embedded.WithSweepInterval(0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = engine.Close() })
	return engine, dynajournal.Config{AWS: engine.AWSConfig()}, func() {
		t.Helper()
		out, err := dynamodb.NewFromConfig(engine.AWSConfig()).ListTables(context.Background(), &dynamodb.ListTablesInput{})
		if err != nil || len(out.TableNames) > 0 {
			t.Errorf("the tables %v are left: %v", out.TableNames, err)
		}
	}
}

// The engine does what dynajournal assumes of the service, and no table is left.
func TestFirstRun_OnTheEngine(t *testing.T) {
	_, config, none := newEngine(t)
	tried := map[string]bool{}
	err := doctor.FirstRun(t.Context(), config, func(of doctor.Trial) {
		if tried[of.Name] {
			t.Errorf("%s is tried twice", of.Name)
		}
		tried[of.Name] = true
		if of.Status != doctor.StatusOK || of.Expected == "" || of.Found == "" {
			t.Errorf("%+v", of)
		}
	})
	if err != nil {
		t.Error(err)
	}
	if len(tried) != 16 {
		t.Errorf("%d trials were made, want 16", len(tried))
	}
	none()
}

// A service that does something else is found, and the other trials are made.
func TestFirstRun_AnotherBehavior(t *testing.T) {
	for name, c := range map[string]struct {
		fault embedded.Fault
		fails string
	}{
		"no PartiQL":      {embedded.Fault{Effect: embedded.EffectAccessDenied, Operation: "BatchExecuteStatement"}, "partiql.types"},
		"no transactions": {embedded.Fault{Effect: embedded.EffectAccessDenied, Operation: "TransactWriteItems"}, "transactions.large"},
		"no stream":       {embedded.Fault{Effect: embedded.EffectAccessDenied, Operation: "GetRecords"}, "stream.records"},
	} {
		t.Run(name, func(t *testing.T) {
			engine, config, none := newEngine(t)
			if _, err := engine.Inject(c.fault); err != nil {
				t.Fatal(err)
			}
			made, failed := 0, map[string]bool{}
			err := doctor.FirstRun(t.Context(), config, func(of doctor.Trial) {
				made++
				failed[of.Name] = of.Status != doctor.StatusOK
			})
			if err != nil || made != 16 || !failed[c.fails] || failed["tables.again"] {
				t.Errorf("%d trials were made, and %v: %v", made, failed, err)
			}
			none()
		})
	}
}

// An interrupted run removes its tables.
func TestFirstRun_Interrupted(t *testing.T) {
	_, config, none := newEngine(t)
	ctx, stop := context.WithCancel(t.Context())
	made := 0
	err := doctor.FirstRun(ctx, config, func(doctor.Trial) {
		if made++; made == 3 {
			stop()
		}
	})
	if !errors.Is(err, context.Canceled) || made != 3 {
		t.Errorf("%d trials were made: %v", made, err)
	}
	none()
}
