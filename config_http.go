package dynajournal

import (
	"net/http"
	"net/url"
	"time"
)

// HTTPConfig configures connections. Zero fields keep the SDK's settings, unless the field
// documents another default.
type HTTPConfig struct {
	// ConnectTimeout limits the time to establish a connection.
	//
	// From 1 nanosecond to 10 years. Defaults to 10 seconds.
	ConnectTimeout time.Duration

	// IdleTimeout is how long an unused connection stays open.
	//
	// Defaults to the SDK's setting, 90 seconds.
	IdleTimeout time.Duration

	// KeepAlive is the interval between TCP keep-alive probes. Setting it is an error if
	// AWS.HTTPClient has a dialer of its own.
	//
	// With a negative value no probes are sent. Defaults to the setting of package net, 15 seconds.
	KeepAlive time.Duration

	// LocalAddress is the IP address to connect from. Setting it is an error if AWS.HTTPClient has
	// a dialer of its own.
	//
	// Defaults to any address.
	LocalAddress string

	// Proxy is the URL of an HTTP proxy, with user and password if the proxy requires them.
	//
	// Defaults to the environment variables, such as HTTPS_PROXY.
	Proxy string

	// ReadBuffer is the size of a connection's read buffer in bytes.
	//
	// From 1 to 67,108,864 (64 MiB). Defaults to the setting of net/http, 4,096.
	ReadBuffer int

	// ResponseTimeout limits how long the journal waits for the headers of a response.
	// AttemptTimeout also applies.
	//
	// Defaults to no limit.
	ResponseTimeout time.Duration

	// WriteBuffer is the size of a connection's write buffer in bytes. A request that fits into it
	// is sent with a single write, even if many writers share the request.
	//
	// From 1 to 67,108,864 (64 MiB). Defaults to 32,768 (32 KiB).
	WriteBuffer int
}

// checkHTTPClient refuses connection settings that would have no effect on the caller's
// *http.Client. Clients of other types, such as the embedded engine's, need not make connections.
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

// transport applies the settings of h that are set to a transport.
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
