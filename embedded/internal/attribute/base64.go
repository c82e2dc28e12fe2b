package attribute

import (
	"encoding/base64"
	"fmt"
	"strings"
)

// Binaries are coded in blocks on the stack, so that they cost one allocation to read and none to write.
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
	strict := base64.StdEncoding.Strict()
	// The decoder skips line ends and would take padding at the end of any block; neither is part of a binary.
	if i := strings.IndexByte(coded, '='); i >= 0 && i < len(coded)-2 || strings.ContainsAny(coded, "\r\n") {
		return "", badBase64(coded)
	}
	var text strings.Builder
	text.Grow(len(coded) / 4 * 3)
	var block [codedBlock]byte
	var plain [plainBlock]byte
	for rest := coded; rest != ""; {
		n := copy(block[:], rest)
		decoded, err := strict.Decode(plain[:], block[:n])
		if err != nil {
			return "", badBase64(coded)
		}
		text.Write(plain[:decoded])
		rest = rest[n:]
	}
	return text.String(), nil
}

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
