package applicationconf

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Sections that the plug-ins read if the host's configuration does not name others.
const (
	usualJournal   = "dynamodb-journal"
	usualSnapshots = "dynamodb-snapshot-store"
	usualRead      = "dynamodb-read-journal"
)

// product is the product whose plug-in a file configures: Akka or Pekko. Their class names and
// table names differ.
type product struct {
	// host is the name of the host's section.
	host string
	// classes is the package prefix of the plug-in's classes. tables is the prefix of its table
	// names.
	classes, tables string
}

var (
	pekko = product{"pekko", "org.apache.pekko.persistence.dynamodb.", "pekko-persistence"}
	akka  = product{"akka", "akka.persistence.dynamodb.", "akka-persistence"}
)

// keys maps the paths of the keys of a section to their defaults in HOCON.
type keys map[string]string

// Values of keys for which the plug-ins have no default: none means unset, bySDK the default of the
// JVM's SDK.
const (
	none  = "null"
	bySDK = "default"
)

// open is the value of an object that may have any keys.
const open = "{}"

// clientKeys are the keys of aws-client-config.
var clientKeys = []string{
	"client-execution-timeout", "connection-max-idle-millis", "connection-timeout", "connection-ttl",
	"local-address", "max-connections", "max-error-retry", "preemptive-basic-proxy-auth", "protocol",
	"proxy-domain", "proxy-host", "proxy-password", "proxy-port", "proxy-username",
	"proxy-workstation", "request-timeout", "response-metadata-cache-size", "signer-override",
	"socket-buffer-size-hints", "socket-timeout", "use-expect-continue", "use-gzip", "use-reaper",
	"use-tcp-keepalive", "user-agent",
}

// Sections within a section.
const (
	clientConfig = "aws-client-config"
	apiLimits    = "aws-api-limits"
)

// sharedKeys returns the keys that both the journal and the snapshot store have.
func sharedKeys() keys {
	shared := keys{
		"endpoint": `""`, "journal-name": "journal", "aws-access-key-id": `""`,
		"aws-secret-access-key": `""`, "region": `""`, "tracing": "off",
		"client-dispatcher":          usualJournal + ".dispatcher",
		apiLimits + ".max-batch-get": "100", apiLimits + ".max-batch-write": "25",
		apiLimits + ".max-item-size": "400000",
	}
	for _, key := range clientKeys {
		shared[clientConfig+"."+key] = bySDK
	}
	return shared
}

// hostKeys returns the keys that the host reads in the section of any plug-in.
func hostKeys() keys {
	return keys{
		"plugin-dispatcher": none, "circuit-breaker.max-failures": none,
		"circuit-breaker.call-timeout": none, "circuit-breaker.reset-timeout": none,
	}
}

// journalKeys returns the keys of the journal: keys of the plug-ins, of the host, and of earlier
// versions.
func (p product) journalKeys() keys {
	all := sharedKeys()
	maps.Copy(all, hostKeys())
	maps.Copy(all, keys{
		"class":         p.classes + "journal.DynamoDBJournal",
		"journal-table": p.tables, "sequence-shards": "10", "replay-parallelism": "10",
		"log-config": "off", "fixes.high-distrust": "false", "dispatcher": open,
		"replay-dispatcher": p.host + ".persistence.dispatchers.default-replay-dispatcher",
		"plugin-dispatcher": usualJournal + ".dispatcher",

		"max-message-batch-size": none, "recovery-event-timeout": none,
		"replay-filter.mode": none, "replay-filter.window-size": none,
		"replay-filter.max-old-writers": none, "replay-filter.debug": none,
		"event-adapters": open, "event-adapter-bindings": open,

		"operation-timeout": none, "blocking-dispatcher": none,
	})
	return all
}

func (p product) snapshotKeys() keys {
	all := sharedKeys()
	maps.Copy(all, hostKeys())
	maps.Copy(all, keys{
		"class":                p.classes + "snapshot.DynamoDBSnapshotStore",
		"snapshot-table":       p.tables + "-snapshot",
		"snapshot-is-optional": none, "only-one-snapshot": none,
	})
	return all
}

func (p product) readKeys() keys {
	all := p.journalKeys()
	all["class"] = p.classes + "query.DynamoDBReadJournalProvider"
	all["persistence-ids-index-name"] = "persistence-ids-idx"
	return all
}

// defaults returns the settings in the plug-ins' reference.conf, to which an application's file can
// refer.
func (p product) defaults() string {
	var text strings.Builder
	section := func(name string, all keys, inherited keys) {
		fmt.Fprintf(&text, "%s {\n", name)
		for _, key := range slices.Sorted(maps.Keys(all)) {
			value := all[key]
			if _, shared := inherited[key]; shared {
				value = "${" + usualJournal + "." + key + "}"
			}
			fmt.Fprintf(&text, "%s = %s\n", key, value)
		}
		text.WriteString("}\n")
	}
	section(usualJournal, p.journalKeys(), nil)
	section(usualSnapshots, p.snapshotKeys(), sharedKeys())
	section(usualRead, p.readKeys(), p.journalKeys().without("class"))
	return text.String()
}

func (k keys) without(key string) keys {
	rest := maps.Clone(k)
	delete(rest, key)
	return rest
}

// isGroup reports whether there are keys below a path.
func (k keys) isGroup(path string) bool {
	for key := range k {
		if strings.HasPrefix(key, path+".") {
			return true
		}
	}
	return false
}
