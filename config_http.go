package dynajournal

import (
	"net/http"
	"net/url"
	"time"
)

// HTTPConfig configures connections. Zero fields keep the SDK's settings, unless the field
// documents another default.
type HTTPConfig struct {
	// ConnectTimeout limits how long making a connection takes.
	//
	// From 1 nanosecond to 10 years. Defaults to 10 seconds.
	ConnectTimeout time.Duration

	// IdleTimeout is how long an unused connection is kept.
	//
	// Defaults to the SDK's setting, 90 seconds.
	IdleTimeout time.Duration

	// KeepAlive is the pause between TCP keep-alive probes. An error if AWS.HTTPClient has a dialer
	// of its own.
	//
	// Negative sends none. Defaults to the setting of package net, 15 seconds.
	KeepAlive time.Duration

	// LocalAddress is the IP address to connect from. An error if AWS.HTTPClient has a dialer of
	// its own.
	//
	// Defaults to any.
	LocalAddress string

	// Proxy is the URL of an HTTP proxy, with the user and the password if it needs them.
	//
	// Defaults to the environment's (HTTPS_PROXY and so on).
	Proxy string

	// ReadBuffer is the size of a connection's read buffer in bytes.
	//
	// From 1 to 67,108,864 (64 MiB). Defaults to the setting of net/http, 4,096.
	ReadBuffer int

	// ResponseTimeout limits how long the journal waits for the headers of a response. The
	// AttemptTimeout applies besides.
	//
	// Defaults to no limit.
	ResponseTimeout time.Duration

	// WriteBuffer is the size of a connection's write buffer in bytes. A request that fits into it
	// is sent by one write, also one that many writers share.
	//
	// From 1 to 67,108,864 (64 MiB). Defaults to 32,768 (32 KiB).
	WriteBuffer int
}

// checkHTTPClient refuses settings of connections that an HTTP client of the caller would not get.
// Clients of other types, such as the embedded engine's, need not make connections.
func (c *Config) checkHTTPClient() error {
	unused := c.HTTP
	if unused.ConnectTimeout == DefaultConnectTimeout {
		unused.ConnectTimeout = 0
	}
	if _, own := c.AWS.HTTPClient.(*http.Client); own && unused != (HTTPConfig{}) {
		return &ArgumentError{"Config.HTTP", "set", "AWS.HTTPClient is an *http.Client, which has its " +
			"own settings: set them there, or leave AWS.HTTPClient to the SDK"}
	}
	return nil
}

// transport changes the settings of a transport that are set in h.
func (h HTTPConfig) transport(t *http.Transport) {
	if h.Proxy != "" {
		if u, err := url.Parse(h.Proxy); err == nil {
			t.Proxy = http.ProxyURL(u)
		}
	}
	if h.IdleTimeout != 0 {
		t.IdleConnTimeout = h.IdleTimeout
	}
	if h.WriteBuffer != 0 {
		t.WriteBufferSize = h.WriteBuffer
	}
	if h.ReadBuffer != 0 {
		t.ReadBufferSize = h.ReadBuffer
	}
	if h.ResponseTimeout != 0 {
		t.ResponseHeaderTimeout = h.ResponseTimeout
	}
}
