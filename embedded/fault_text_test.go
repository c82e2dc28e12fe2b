package embedded_test

import (
	"strings"
	"testing"
	"time"

	"github.com/dynajournal/dynajournal/embedded"
)

func TestFaultTextsAreParsed(t *testing.T) {
	cases := map[string]embedded.Fault{
		"reset": {Effect: embedded.EffectReset},
		"throttling,operation=PutItem,probability=0.1": {
			Effect: embedded.EffectThrottling, Operation: "PutItem", Probability: 0.1,
		},
		"reset,applied,table=t*,key=journal-P-a-*,sort-key=7,nth=3": {
			Effect: embedded.EffectReset, Applied: true, Table: "t*", Key: "journal-P-a-*", SortKey: "7", Nth: 3,
		},
		"statement-errors,some,code=InternalServerError,every=10,times=2": {
			Effect: embedded.EffectStatementErrors, Some: true, Code: "InternalServerError", Every: 10, Times: 2,
		},
		"slow,delay=1m30s":                {Effect: embedded.EffectSlow, Delay: 90 * time.Second},
		"index-lag,index=i,delay=10ms":    {Effect: embedded.EffectIndexLag, Index: "i", Delay: 10 * time.Millisecond},
		`hang,key="a,\"b=c",table=x=y`:    {Effect: embedded.EffectHang, Key: `a,"b=c`, Table: "x=y"},
		"late-shards,some,delay=1m0s":     {Effect: embedded.EffectLateShards, Some: true, Delay: time.Minute},
		"throughput-exceeded,key= spaced": {Effect: embedded.EffectThroughputExceeded, Key: " spaced"},
	}
	for spec, want := range cases {
		got, err := embedded.ParseFault(spec)
		if err != nil || got != want {
			t.Errorf("%s: got %+v, %v", spec, got, err)
		}
		if again, err := embedded.ParseFault(got.String()); err != nil || again != want {
			t.Errorf("%s: its text %s reads as %+v, %v", spec, got, again, err)
		}
	}
}

func TestInvalidFaultTextsAreRefusedWithTheReason(t *testing.T) {
	cases := map[string]string{
		"":                              "needs an effect",
		"explode":                       `unknown effect "explode": the effects are access-denied, expired-iterator`,
		"reset,":                        `unknown clause ""`,
		"reset,when=now":                `unknown clause "when": the clauses are operation, table`,
		"reset,nth":                     "nth needs a value",
		"reset,table=":                  "table needs a value",
		"reset,nth=0":                   `nth is "0", not a positive number`,
		"reset,nth=1,every=2":           "either nth or every",
		"reset,nth=1,nth=2":             "nth is given twice",
		"reset,probability=2":           `the probability is "2"`,
		"reset,probability=NaN":         `the probability is "NaN"`,
		"reset,applied=yes":             "applied takes no value",
		"throttling,applied":            "the effect throttling does not take applied",
		"reset,delay=1s":                "the effect reset does not take delay",
		"slow":                          "the effect slow needs a delay",
		"slow,delay=5":                  `the delay is "5", not a duration above 0`,
		"slow,delay=-5s":                `the delay is "-5s"`,
		`reset,key="a`:                  "the value of key is not quoted as a Go string",
		`reset,key="a"b`:                `the quoted value of key is followed by "b"`,
		"statement-errors,code=No":      `unknown error code "No"`,
		strings.Repeat("reset,", 10000): "longer than",
	}
	for spec, want := range cases {
		if _, err := embedded.ParseFault(spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: got %v, want %s", spec, err, want)
		}
	}
}

func FuzzParseFault(f *testing.F) {
	for _, spec := range []string{
		"reset", "throttling,operation=PutItem,probability=0.1", `hang,key="a,\"b",table=x=y`, "slow,delay=1m30s,applied",
		"statement-errors,some,code=InternalServerError,every=10,times=2", "index-lag,index=*,sort-key=1,nth=2", "reset,,=\"",
	} {
		f.Add(spec)
	}
	f.Fuzz(func(t *testing.T, spec string) {
		fault, err := embedded.ParseFault(spec)
		if err != nil {
			return
		}
		if again, err := embedded.ParseFault(fault.String()); err != nil || again != fault {
			t.Errorf("%q is %+v; its text %q reads as %+v, %v", spec, fault, fault.String(), again, err)
		}
	})
}
