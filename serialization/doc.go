// Package serialization turns Go values into the bytes, serializer ids and
// manifests that Akka and Pekko store for them, and back.
//
// A [Registry] knows the built-in serializers of both sides (byte arrays,
// integers, strings, booleans, ByteString, the persistence messages, snapshot
// envelopes, filtered payloads). An application adds its own types with [JSON],
// [CBOR], [Protobuf] and [Custom] before it uses the registry.
//
//	reg := serialization.NewRegistry()
//	class := "com.example.OrderPlaced"
//	err := serialization.JSON[OrderPlaced](reg, class, serialization.Version(2))
//
// The class name is stored with every value, and selects the Go type when the
// value is read; the name of the Go type is not stored. A journal that no JVM
// reads can use any name, such as "order-placed".
//
// An int64 is written as a Long and an int32 as an Integer. An int or a uint is
// also written as a Long, and is read as an int64. A uint above the largest
// int64 is an error.
//
// A value without a serializer here stays a [Payload]: its bytes, id and
// manifest are written back as they were read.
//
// From Java serialization (id 1), [Registry.Decode] reads a String, Long,
// Integer or Boolean as a string, int64, int32 or bool: the plug-ins of 2014
// stored strings, and Akka stores booleans, in this form. All other values are
// decoded as [JavaObject]. When a decoded value is encoded again, today's
// serializers write it, which not every old reader has. A [Payload] is written
// back in the form of Java, as it was read.
package serialization
