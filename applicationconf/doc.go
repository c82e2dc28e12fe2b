// Package applicationconf loads the application.conf of Akka's and Pekko's DynamoDB plug-ins, so
// that a service in Go uses the file of the service on the JVM:
//
//	settings, err := applicationconf.Load("application.conf")
//	config := settings.Config
//	config.AWS, err = awsconfig.LoadDefaultConfig(ctx, awsconfig.WithRegion(settings.Region))
//	journal, err := dynajournal.Open(ctx, config)
//
// The file is HOCON or JSON. Load reads the sections dynamodb-journal, dynamodb-snapshot-store and
// dynamodb-read-journal. If the file sets a key of the host, such as
// pekko.persistence.journal.plugin, it reads the section that this key names instead. It ignores
// the rest of the file.
//
// The command dynajournal loads the file of its flag --config with this package.
// docs/configuration.md lists every key.
package applicationconf
