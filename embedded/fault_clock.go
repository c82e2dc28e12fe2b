package embedded

import (
	"fmt"
	"time"
)

const (
	// signedFor is the maximum difference between the time of a signature and the service's clock.
	// AWS's pages name 5 or 15 minutes, its messages both. The engine uses 15, but a client must
	// not rely on it.
	//
	// https://docs.aws.amazon.com/IAM/latest/UserGuide/signature-v4-troubleshooting.html
	signedFor = 15 * time.Minute
	// signedAtFormat is the format of X-Amz-Date.
	signedAtFormat = "20060102T150405Z"
)

// checkSignedAt refuses a request whose signature is too old or too new for the clock of
// EffectWrongClock. Without that fault, or without X-Amz-Date, it refuses nothing.
func (c *call) checkSignedAt(now time.Time) error {
	clock, wrong := c.form(EffectWrongClock)
	if !wrong {
		return nil
	}
	signedAt, err := time.Parse(signedAtFormat, c.signedAt)
	if err != nil {
		return nil //nolint:nilerr // only the time of signatures that have one is checked
	}
	now = now.Add(clock.Delay).UTC()
	at, shown := signedAt.Format(signedAtFormat), now.Format(signedAtFormat)
	switch {
	case signedAt.Before(now.Add(-signedFor)):
		return serviceError("InvalidSignatureException", fmt.Sprintf("Signature expired: %s is now earlier than %s (%s - 15 min.)",
			at, now.Add(-signedFor).Format(signedAtFormat), shown))
	case signedAt.After(now.Add(signedFor)):
		return serviceError("InvalidSignatureException", fmt.Sprintf("Signature not yet current: %s is still later than %s (%s + 15 min.)",
			at, now.Add(signedFor).Format(signedAtFormat), shown))
	}
	return nil
}
