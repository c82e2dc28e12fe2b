// Package serialization turns Go values into the bytes, serializer ids and
// manifests that Akka and Pekko store for them, and back.
//
// A [Registry] knows the serializers both sides have from the start (byte
// arrays, integers, strings, booleans, ByteString, the persistence messages,
// snapshot envelopes, filtered payloads); an application adds its own types
// with [JSON], [CBOR], [Protobuf] and [Custom] before it uses the registry.
//
//	reg := serialization.NewRegistry()
//	class := "com.example.OrderPlaced"
//	err := serialization.JSON[OrderPlaced](reg, class, serialization.Version(2))
//
// The name is stored with every value, and selects the type that reads it; the
// name of the Go type is not stored. A journal that no JVM reads can use any
// name, such as "order-placed".
//
// An int64 is written as a Long and an int32 as an Integer. An int or a uint is
// written as a Long, too, and is read as an int64. A uint above the largest
// int64 is an error.
//
// Whatever has no serializer here stays a [Payload]: its bytes, id and manifest
// are written back as they were read.
//
// Of Java serialization (id 1), [Registry.Decode] reads a String, Long, Integer
// or Boolean, as the plug-ins of 2014 stored strings and Akka stores booleans:
// as a string, int64, int32 or bool. All else comes out as [JavaObject]. These
// values are written by the serializers of today, which not every old reader
// has; the [Payload] that was read is written back in the form of Java.
package serialization
