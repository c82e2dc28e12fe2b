// Package hocon reads configuration files of the JVM: HOCON, of which JSON is a part. A document is evaluated lazily: what
// stands in a part of a file that nobody asks for need not make sense here, as an application's configuration refers to
// defaults of libraries that only its own class path has. Input is bounded in bytes, in nesting and in the work that its
// substitutions cause.
package hocon
