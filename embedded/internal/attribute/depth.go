package attribute

// CheckDepth refuses a value with more levels than MaxDepth if it stands within as many lists and
// maps as around says.
func (v Value) CheckDepth(around int) error {
	if v.deeper(MaxDepth - around) {
		return Invalid(tooDeep)
	}
	return nil
}

// deeper reports whether a value has more levels than the limit; it looks no deeper than that
// itself.
func (v Value) deeper(limit int) bool {
	if limit <= 0 {
		return true
	}
	for _, member := range v.List {
		if member.deeper(limit - 1) {
			return true
		}
	}
	for _, member := range v.Map {
		if member.deeper(limit - 1) {
			return true
		}
	}
	return false
}
