// Package hocon reads configuration files of the JVM: HOCON, a superset of JSON. A document is
// evaluated lazily. A part that is not read need not be valid, because an application's
// configuration can refer to defaults of libraries that are only on its own class path. Input is
// limited in bytes, in nesting and in the work that its substitutions cause.
package hocon
