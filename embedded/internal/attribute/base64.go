package attribute

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
)

// Binaries are encoded and decoded in blocks on the stack. Decoding makes one allocation. Encoding
// makes no allocation.
const (
	plainBlock = 768
	codedBlock = plainBlock / 3 * 4
)

func appendBase64(dst []byte, text string) []byte {
	var block [plainBlock]byte
	for text != "" {
		n := copy(block[:], text)
		dst = base64.StdEncoding.AppendEncode(dst, block[:n])
		text = text[n:]
	}
	return dst
}

func decodeBase64(coded string) (string, error) {
	if len(coded)%4 != 0 {
		return "", &SerializationError{Message: fmt.Sprintf(
			"'%s' can not be converted to a Blob: Base64 encoded length is expected a multiple of 4 bytes but found: %d",
			coded, len(coded))}
	}
	text, ok := binaryText(coded)
	if !ok {
		return "", badBase64(coded)
	}
	return text, nil
}

// binaryText decodes base64, and reports whether it is valid.
func binaryText[T string | []byte](coded T) (string, bool) {
	if len(coded)%4 != 0 {
		return "", false
	}
	strict := base64.StdEncoding.Strict()
	var text strings.Builder
	text.Grow(len(coded) / 4 * 3)
	var block [codedBlock]byte
	var plain [plainBlock]byte
	for rest := coded; len(rest) > 0; {
		n := copy(block[:], rest)
		rest = rest[n:]
		decoded, err := strict.Decode(plain[:], block[:n])
		// The decoder skips line ends, which a binary can't have, and accepts padding at the end of
		// any block.
		if err != nil || decoded < n/4*3 && (len(rest) > 0 || !padded(block[:n], n/4*3-decoded)) {
			return "", false
		}
		text.Write(plain[:decoded])
	}
	return text.String(), true
}

// padded reports whether the only padding is in the last n characters.
func padded(coded []byte, n int) bool { return n < 3 && bytes.IndexByte(coded, '=') == len(coded)-n }

func badBase64(coded string) error {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="
	for _, c := range coded {
		if !strings.ContainsRune(alphabet, c) {
			return &SerializationError{Message: fmt.Sprintf(
				"'%s' can not be converted to a Blob: Invalid Base64 character: '%c'", coded, c)}
		}
	}
	return &SerializationError{Message: fmt.Sprintf(
		"'%s' can not be converted to a Blob: Invalid last non-pad Base64 character dectected", coded)}
}
