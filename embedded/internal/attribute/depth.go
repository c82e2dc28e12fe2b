package attribute

// CheckDepth refuses a value that has more than MaxDepth levels, including the around levels of
// lists and maps that contain it.
func (v Value) CheckDepth(around int) error {
	if v.deeper(MaxDepth - around) {
		return Invalid(tooDeep)
	}
	return nil
}

// deeper reports whether a value has more levels than the limit. It does not descend below the
// limit.
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
