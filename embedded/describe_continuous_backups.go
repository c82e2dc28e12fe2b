package embedded

// describeContinuousBackups describes the backups of a table. The engine makes no backups: it
// responds like the service for a table without point-in-time recovery, because some libraries call
// the operation for every table.
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
