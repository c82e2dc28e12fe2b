package serialization

import (
	"errors"
	"strings"
	"unicode/utf8"
)

// ManifestPrefix is a package prefix of class names: the same classes have one
// prefix in Akka and the other in Pekko.
type ManifestPrefix string

// The two prefixes.
const (
	Akka  ManifestPrefix = "akka."
	Pekko ManifestPrefix = "org.apache.pekko."
)

// apply replaces the prefix of Akka or Pekko in a manifest with to.
func (to ManifestPrefix) apply(manifest string) string {
	for _, from := range [...]ManifestPrefix{Akka, Pekko} {
		if rest, found := strings.CutPrefix(manifest, string(from)); found {
			return string(to) + rest
		}
	}

	return manifest
}

// canonicalName returns the name of the decoder for a manifest: the manifest
// with Pekko's prefix and, for Jackson, without the version.
func canonicalName(id int32, manifest string) string {
	switch id {
	case IDJacksonJSON, IDJacksonOldCBOR, IDJacksonCBOR:
		return withoutVersion(manifest)
	}

	return Pekko.apply(manifest)
}

// withoutVersion returns the name of the Jackson decoder for a manifest.
func withoutVersion(manifest string) string {
	if i := strings.LastIndexByte(manifest, '#'); i >= 0 {
		manifest = manifest[:i]
	}

	return Pekko.apply(manifest)
}

// checkManifest returns an error if a manifest can't be stored.
func checkManifest(manifest string) error {
	if !utf8.ValidString(manifest) {
		return errors.New("manifest is not valid UTF-8")
	}

	return nil
}
