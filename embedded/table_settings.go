package embedded

// The engine stores and returns some settings of tables that have no effect: encryption is left to
// the disk, and on-demand requests are not limited.

// settings are the settings of a table.
type settings struct {
	// KeyARN is the key that encrypts the table, or empty for the key of the service.
	KeyARN string `json:"keyARN,omitempty"`
	// OnDemandRead and OnDemandWrite are the limits of request units per second of an on-demand
	// table. Nil is no limit.
	OnDemandRead  *int64 `json:"onDemandRead,omitempty"`
	OnDemandWrite *int64 `json:"onDemandWrite,omitempty"`
}

const managedKeyARN = "arn:aws:kms:us-east-1:000000000000:key/alias/aws/dynamodb"

// settingsParameter has the settings in a request. Settings that are not given do not change.
type settingsParameter struct {
	encrypted   *bool
	key         *string
	onDemand    bool
	read, write *int64
}

// readMember reads a member of the request, and reports whether it is a setting.
func (p *settingsParameter) readMember(name string, r *decoder) bool {
	switch name {
	case "SSESpecification":
		r.structure("SSESpecification", func(name string) {
			switch name {
			case "Enabled":
				p.encrypted = r.boolean()
			case "KMSMasterKeyId":
				p.key = r.text()
			default:
				r.skip()
			}
		})
	case "OnDemandThroughput":
		p.onDemand = r.structure("OnDemandThroughput", func(name string) {
			switch name {
			case "MaxReadRequestUnits":
				p.read = r.integer("Long")
			case "MaxWriteRequestUnits":
				p.write = r.integer("Long")
			default:
				r.skip()
			}
		})
	default:
		return false
	}
	return true
}

// given reports whether the request has a setting that is stored.
func (p *settingsParameter) given() bool { return p.encrypted != nil || p.onDemand }

// apply changes the settings.
func (p *settingsParameter) apply(s *settings) {
	if p.encrypted != nil {
		s.KeyARN = ""
		if *p.encrypted {
			s.KeyARN = or(p.key, managedKeyARN)
		}
	}
	if p.onDemand {
		s.OnDemandRead, s.OnDemandWrite = p.read, p.write
	}
}

// describe adds the settings to the description of a table.
func (s settings) describe(description object) {
	if s.KeyARN != "" {
		description["SSEDescription"] = object{"Status": "ENABLED", "SSEType": "KMS", "KMSMasterKeyArn": s.KeyARN}
	}
	limits := object{}
	if s.OnDemandRead != nil {
		limits["MaxReadRequestUnits"] = *s.OnDemandRead
	}
	if s.OnDemandWrite != nil {
		limits["MaxWriteRequestUnits"] = *s.OnDemandWrite
	}
	if len(limits) > 0 {
		description["OnDemandThroughput"] = limits
	}
}
