package applicationconf

import (
	"fmt"
	"math"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/dynajournal/dynajournal"
)

// client reads the settings of the HTTP client that have an equivalent in Config.
func (r *reader) client(c *dynajournal.Config) {
	const prefix = clientConfig + "."
	r.number(prefix+"max-connections", 1, dynajournal.MaxMaxConnections, &c.MaxConnections)
	r.number(prefix+"max-error-retry", 0, math.MaxInt32, &c.Retries)
	if text, set := r.get(prefix + "max-error-retry"); set && text == "0" {
		c.Retries = -1
	}
	r.duration(prefix+"client-execution-timeout", &c.OperationTimeout)
	r.duration(prefix+"request-timeout", &c.AttemptTimeout)
	r.duration(prefix+"connection-timeout", &c.HTTP.ConnectTimeout)
	r.duration(prefix+"connection-max-idle-millis", &c.HTTP.IdleTimeout)
	r.duration(prefix+"socket-timeout", &c.HTTP.ResponseTimeout)
	r.text(prefix+"local-address", &c.HTTP.LocalAddress)
	if local := c.HTTP.LocalAddress; r.err == nil && local != "" && net.ParseIP(local) == nil {
		r.fail(prefix+"local-address", local, "an IP address")
	}
	r.text(prefix+"user-agent", &c.UserAgent)
	const keepAlive = prefix + "use-tcp-keepalive"
	on := false
	if r.flag(keepAlive, &on); !on {
		if _, set := r.get(keepAlive); set {
			c.HTTP.KeepAlive = -1
			r.note(&c.HTTP.KeepAlive, keepAlive)
		}
	}
	r.buffers(prefix+"socket-buffer-size-hints", c)
	r.proxy(prefix, c)
}

// largestBuffer limits the buffers of a connection, in bytes.
const largestBuffer = 64 << 20

// buffers reads the sizes of the send and the receive buffer.
func (r *reader) buffers(key string, c *dynajournal.Config) {
	path := r.section + "." + key
	if r.err != nil || r.At(path).IsZero() {
		return
	}
	if text, set, err := r.Text(path); err == nil && (!set || text == bySDK) {
		return
	}
	sizes, set, err := r.List(path)
	if err != nil {
		r.err = r.wrong(path, "%w", err)
	}
	if err != nil || !set {
		return
	}
	numbers := make([]int, len(sizes))
	for i, size := range sizes {
		if numbers[i], err = strconv.Atoi(size); err != nil || numbers[i] < 0 || numbers[i] > largestBuffer {
			numbers = nil
			break
		}
	}
	if len(numbers) != 2 {
		r.fail(key, strings.Join(sizes, ", "), fmt.Sprintf("two sizes from 0 to %d bytes", largestBuffer))
		return
	}
	c.HTTP.WriteBuffer, c.HTTP.ReadBuffer = numbers[0], numbers[1]
	r.note(&c.HTTP.WriteBuffer, key)
	r.note(&c.HTTP.ReadBuffer, key)
}

func (r *reader) proxy(prefix string, c *dynajournal.Config) {
	host, set := r.get(prefix + "proxy-host")
	if !set {
		return
	}
	var port int
	var user, password string
	r.number(prefix+"proxy-port", 1, math.MaxUint16, &port)
	r.text(prefix+"proxy-username", &user)
	r.text(prefix+"proxy-password", &password)
	proxy := url.URL{Scheme: "http", Host: host}
	if port != 0 {
		proxy.Host = net.JoinHostPort(host, strconv.Itoa(port))
	}
	if user != "" {
		proxy.User = url.UserPassword(user, password)
	}
	if parsed, err := url.Parse(proxy.String()); r.err == nil &&
		(err != nil || parsed.Hostname() != strings.Trim(host, "[]")) {
		r.fail(prefix+"proxy-host", host, "the name of a host")
		return
	}
	c.HTTP.Proxy = proxy.String()
	r.note(&c.HTTP.Proxy, prefix+"proxy-host")
}
