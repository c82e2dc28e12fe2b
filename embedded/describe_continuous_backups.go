package embedded

// describeContinuousBackups describes the backups of a table, which the engine does not make: it
// answers as the service does of a table without point-in-time recovery, for the libraries that ask
// of every table.
//
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeContinuousBackups.html
func (e *Engine) describeContinuousBackups(c *call) error {
	name, err := c.decodeTable()
	if err != nil {
		return err
	}
	t, err := e.shared(name)
	if err != nil {
		return dynamoError("TableNotFoundException", "Table not found: "+tableName(name))
	}
	defer t.lock.RUnlock()
	return c.respond(object{"ContinuousBackupsDescription": object{
		"ContinuousBackupsStatus":        "ENABLED",
		"PointInTimeRecoveryDescription": object{"PointInTimeRecoveryStatus": "DISABLED"},
	}})
}
