package embedded

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// allowedHosts are the names that a server accepts in the Host header. A page in a browser can make
// its own name resolve to 127.0.0.1, and then send requests there that the browser treats as
// requests to the page's server (DNS rebinding). The Host header of such requests has the page's
// name.
type allowedHosts struct {
	// checked is false if every name is accepted.
	checked bool
	// own is the listener's address, which is accepted without parsing. Most requests have it.
	own string
	// addresses is set if every IP address is accepted, not only loopback addresses. An attacker
	// can make a name resolve to another address, but not an address.
	addresses bool
	names     map[string]bool
}

// allowHosts returns the hosts for a listener's address. Names are checked if the address is a
// loopback address or if names is not empty.
func allowHosts(address net.Addr, names []string) allowedHosts {
	loopback, own := false, ""
	if tcp, ok := address.(*net.TCPAddr); ok {
		loopback, own = tcp.IP.IsLoopback(), tcp.String()
	}
	hosts := allowedHosts{own: own, checked: loopback || len(names) > 0, addresses: !loopback, names: map[string]bool{"localhost": true}}
	for _, name := range names {
		hosts.names[hostName(name)] = true
	}
	return hosts
}

// allow reports whether a request with the Host header is accepted.
func (a *allowedHosts) allow(header string) bool {
	if !a.checked || header == a.own && header != "" {
		return true
	}
	name := hostName(header)
	if a.names[name] {
		return true
	}
	address, err := netip.ParseAddr(name)
	return err == nil && (a.addresses || address.Unmap().IsLoopback())
}

// hostName returns the name or address of a Host header, without port and brackets, in lower case.
func hostName(header string) string {
	name := header
	if host, _, err := net.SplitHostPort(header); err == nil {
		name = host
	} else if strings.HasPrefix(name, "[") && strings.HasSuffix(name, "]") {
		name = name[1 : len(name)-1]
	}
	return strings.ToLower(strings.TrimSuffix(name, "."))
}

// checkHost returns an error if a name can't be a host.
func checkHost(name string) error {
	if _, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
		return nil
	}
	if len(name) > 253 || name == "" || strings.Trim(name, ".-") != name {
		return fmt.Errorf("host %.100q is not a name without port, such as db.example", name)
	}
	for _, r := range name {
		if r != '.' && r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return fmt.Errorf("host %.100q is not a name without port, such as db.example", name)
		}
	}
	return nil
}
