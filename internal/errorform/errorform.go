// Package errorform gives the errors of internal packages the forms that users see.
package errorform

import "slices"

// Public returns an error with the public forms of the errors that it wraps. form returns the
// public form of a single error, nil if that is the error itself. An error that wraps others keeps
// its text and its chain.
func Public(err error, form func(error) error) error {
	if err == nil {
		return nil
	}
	public, _ := publicOf(err, form)
	return public
}

// publicOf is Public. It also reports whether the public form is another error.
func publicOf(err error, form func(error) error) (error, bool) { //nolint:revive // the error is the result
	if public := form(err); public != nil {
		return public, true
	}
	switch e := err.(type) { //nolint:errorlint // publicOf walks the chain itself
	case *wrapping:
		return err, false
	case interface{ Unwrap() error }:
		if public, other := publicOf(e.Unwrap(), form); other {
			return &wrapping{err, []error{public}}, true
		}
	case interface{ Unwrap() []error }:
		var forms []error
		for _, part := range e.Unwrap() {
			if public, other := publicOf(part, form); other {
				forms = append(forms, public)
			}
		}
		if forms != nil {
			return &wrapping{err, forms}, true
		}
	}
	return err, false
}

// wrapping is an error that wraps errors of internal packages, with their public forms.
type wrapping struct {
	error

	forms []error
}

// Unwrap returns the public forms, and after them the error itself.
func (e *wrapping) Unwrap() []error { return append(slices.Clip(e.forms), e.error) }

// MaybeApplied reports what the error itself reports: an error inside of it, such as the cause of a
// writer's end, can be that of another call.
func (e *wrapping) MaybeApplied() bool { return MaybeApplied(e.error) }

// MaybeApplied reports what the first error of a chain says that has a method MaybeApplied. It is
// false if none has.
func MaybeApplied(err error) bool {
	if known, ok := err.(interface{ MaybeApplied() bool }); ok {
		return known.MaybeApplied()
	}
	switch e := err.(type) { //nolint:errorlint // the chain is walked here
	case interface{ Unwrap() error }:
		return MaybeApplied(e.Unwrap())
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(e.Unwrap(), MaybeApplied)
	}
	return false
}
