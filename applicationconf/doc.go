// Package applicationconf loads the application.conf of Akka's and Pekko's DynamoDB plug-ins, so
// that a service in Go uses the file of the service on the JVM:
//
//	settings, err := applicationconf.Load("application.conf")
//	config := settings.Config
//	config.AWS, err = awsconfig.LoadDefaultConfig(ctx, awsconfig.WithRegion(settings.Region))
//	journal, err := dynajournal.Open(ctx, config)
//
// The file is HOCON or JSON. The sections are dynamodb-journal, dynamodb-snapshot-store and
// dynamodb-read-journal, or those that the host's keys name, such as
// pekko.persistence.journal.plugin. The rest of the file is ignored.
//
// The command dynajournal loads its file of --config with this package. The page
// docs/configuration.md has every key.
package applicationconf
