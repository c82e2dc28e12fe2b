package serialization

import (
	"bytes"
	"encoding/binary"
	"errors"
	"reflect"
	"strings"
)

// JavaObject is a value of Java serialization that is not decoded, such as an
// event wrapped with tags: the class that it names is never instantiated. A
// stream of only one String, Long, Integer or Boolean is decoded as a string,
// int64, int32 or bool instead, unless it is a string that a Go string can't
// represent (half of a surrogate pair). Encoding returns Bytes unchanged.
type JavaObject struct {
	// Class is the name of the value's class as in the stream, for arrays in
	// the JVM's notation ("[B"). It is empty if the stream does not name a
	// class.
	Class string
	// Bytes is the whole stream.
	Bytes []byte
}

// The start of a Java object stream, and the tags that can follow it.
const (
	javaStreamMagic = "\xac\xed\x00\x05"

	javaClassDesc  = 0x72
	javaObject     = 0x73
	javaString     = 0x74
	javaArray      = 0x75
	javaClass      = 0x76
	javaLongString = 0x7c
	javaEnum       = 0x7e
)

func (r *Registry) addJava() {
	r.encoders[reflect.TypeFor[JavaObject]()] = encoderOf(func(object JavaObject) (Payload, error) {
		return Payload{SerializerID: IDJava, Bytes: append([]byte{}, object.Bytes...)}, nil
	})
	r.anyManifest[IDJava] = func(p Payload) (any, error) {
		if value, is := javaValue(p.Bytes); is {
			return value, nil
		}
		class, err := javaClassName(p.Bytes)
		if err != nil {
			return nil, err
		}

		return JavaObject{Class: class, Bytes: bytes.Clone(p.Bytes)}, nil
	}
}

func javaClassName(stream []byte) (string, error) {
	content, found := bytes.CutPrefix(stream, []byte(javaStreamMagic))
	if !found {
		return "", errors.New("not a Java object stream: wrong first bytes")
	}
	if len(content) == 0 {
		return "", errors.New("the Java object stream ends after its header")
	}
	switch content[0] {
	case javaString, javaLongString:
		return "java.lang.String", nil
	case javaClass:
		return "java.lang.Class", nil
	case javaObject, javaArray, javaEnum:
		return javaDescribedClass(content[1:])
	default:
		return "", nil
	}
}

// javaDescribedClass reads the name in a class description. Other descriptions,
// such as those of proxies, do not have a name.
func javaDescribedClass(desc []byte) (string, error) {
	const nameAt = 3
	if len(desc) > 0 && desc[0] != javaClassDesc {
		return "", nil
	}
	if len(desc) < nameAt {
		return "", errors.New("the Java object stream ends in its class description")
	}
	size, name := int(binary.BigEndian.Uint16(desc[1:])), desc[nameAt:]
	if size > len(name) {
		return "", errors.New("the Java object stream ends in its class name")
	}

	return strings.ToValidUTF8(string(name[:size]), "\uFFFD"), nil
}
