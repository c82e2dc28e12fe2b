package main

import "testing"

func TestTablesDescribeShowsExpiry(t *testing.T) {
	clean(t)
	must(t, "tables", "create", "--billing", "provisioned", "--rcu", "3", "--wcu", "4")
	got := must(t, "tables", "describe")
	for key, want := range map[string]any{
		"ttl": "expires", "ttl_status": "ENABLED", "stream": "", "fence_window": 86400.0,
		"billing": "provisioned", "read_units": 3.0, "write_units": 4.0, "kind": "native",
	} {
		if got[0][key] != want {
			t.Errorf("%s is %v, want %v", key, got[0][key], want)
		}
	}
	if got[1]["ttl"] != "" || got[1]["ttl_status"] != "DISABLED" || got[1]["fence_window"] != 0.0 {
		t.Errorf("the snapshot table is %v", got[1])
	}
	o := invoke(t.Context(), "", "--output", "text", "tables", "describe")
	want := "pekko-persistence: ACTIVE, native, 1 shards, key par (S) and num (N), indexes ids-idx, " +
		"items expire by expires (ENABLED), fence window 24h0m0s, provisioned: 3 read and 4 write units\n" +
		"pekko-persistence-snapshot: ACTIVE, key par (S) and seq (N), items do not expire (DISABLED), " +
		"provisioned: 3 read and 4 write units\n"
	if o.out != want {
		t.Errorf("it shows\n%swant\n%s", o.out, want)
	}
}
