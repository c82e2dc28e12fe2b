// Package hocon reads configuration files of the JVM: HOCON, a superset of JSON. A document is
// evaluated lazily: a part of a file that is not read need not be valid, because an application's
// configuration refers to defaults of libraries that only its own class path has. Input is limited
// in bytes, in nesting and in the work that its substitutions cause.
package hocon
