package embedded

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
)

var (
	loopbackAddress = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8000}
	anyAddress      = &net.TCPAddr{IP: net.IPv4zero, Port: 8000}
	unixAddress     = &net.UnixAddr{Name: "socket"}
)

func TestHostsAreCheckedOnLoopbackAddresses(t *testing.T) {
	for _, c := range []struct {
		address net.Addr
		names   []string
		host    string
		want    bool
	}{
		{loopbackAddress, nil, "localhost", true},
		{loopbackAddress, nil, "LocalHost.:8000", true},
		{loopbackAddress, nil, "127.0.0.1:8000", true},
		{loopbackAddress, nil, "127.9.9.9", true},
		{loopbackAddress, nil, "[::1]:8000", true},
		{loopbackAddress, nil, "[::1]", true},
		{loopbackAddress, nil, "[::ffff:127.0.0.1]", true},
		{loopbackAddress, nil, "evil.example", false},
		{loopbackAddress, nil, "localhost.evil.example:8000", false},
		{loopbackAddress, nil, "127.0.0.1.evil.example", false},
		{loopbackAddress, nil, "192.0.2.1:8000", false},
		{loopbackAddress, nil, "2130706433", false},
		{loopbackAddress, nil, "", false},
		{&net.TCPAddr{IP: net.IPv6loopback}, nil, "evil.example", false},
		{loopbackAddress, []string{"Db.Example"}, "db.example:8000", true},
		{loopbackAddress, []string{"db.example"}, "x.db.example", false},
		{anyAddress, nil, "evil.example", true},
		{unixAddress, nil, "evil.example", true},
		{anyAddress, []string{"db.example"}, "evil.example", false},
		{anyAddress, []string{"db.example"}, "db.example", true},
		{anyAddress, []string{"db.example"}, "192.0.2.1:8000", true},
	} {
		hosts := allowHosts(c.address, c.names)
		if got := hosts.allow(c.host); got != c.want {
			t.Errorf("on %s with %q, %q: got %t", c.address, c.names, c.host, got)
		}
	}
}

func TestInvalidHostNamesAreRefused(t *testing.T) {
	for _, name := range []string{"", "*", "*.example", "http://a", "a:80", "a/b", ".a", "a b", "ä", strings.Repeat("a", 300)} {
		if err := (&Server{AllowedHosts: []string{name}}).Check(); err == nil {
			t.Errorf("%.20q is accepted", name)
		}
	}
	if err := (&Server{AllowedHosts: []string{"db", "a-b_c.Example", "192.0.2.1", "::1", "[::1]"}}).Check(); err != nil {
		t.Error(err)
	}
}

func TestOrigins_MustBeWrittenAsBrowsersWriteThem(t *testing.T) {
	for origin, want := range map[string]string{
		"*": "only exact origins", "http://*.example": "only exact origins", "null": "no scheme or no host", "": "no scheme or no host",
		"localhost:3000": "no scheme or no host", "http://": "no scheme or no host", "http://a/": "a slash at its end", "http://a/b": "has a path",
		"http://a?b": "more than scheme", "http://a#b": "more than scheme", "http://u@a": "more than scheme", "HTTP://a": "capitals",
		"http://A": "lower case", "http://ä": "punycode", "http://a:80": "default port", "https://a:443": "default port", "http://a:": "default port",
		"http://a b": "not a URL",
	} {
		if err := (&Server{AllowedOrigins: []string{origin}}).Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", origin, err, want)
		}
	}
	for _, origin := range []string{"http://localhost:3000", "https://a.example", "https://a:80", "http://[::1]:3000", "chrome-extension://abc"} {
		if err := (&Server{AllowedOrigins: []string{origin}}).Check(); err != nil {
			t.Error(err)
		}
	}
}

// handlerOf returns the handler of a server that listens on an address.
func handlerOf(t *testing.T, server Server, address net.Addr) *serving {
	t.Helper()
	engine, err := OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	server.Engine = engine
	p := newPipes()
	run, err := server.start(addressListener{p, address})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// addressListener is a listener with another address.
type addressListener struct {
	net.Listener

	address net.Addr
}

func (a addressListener) Addr() net.Addr { return a.address }

// serve returns the response of the handler to a request with headers, each NAME: VALUE.
func serve(run *serving, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	request := httptest.NewRequest(method, "http://localhost:8000"+path, strings.NewReader(body))
	request.Header.Set("X-Amz-Target", "DynamoDB_20120810.ListTables")
	request.Header.Set("Authorization", "AWS4-HMAC-SHA256 x")
	request.Header.Set("Content-Type", "application/x-amz-json-1.0")
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Set(name, value)
		if name == "Host" {
			request.Host = value
		}
	}
	connection := &connection{of: run.open}
	request = request.WithContext(withConnection(request.Context(), connection))
	recorder := httptest.NewRecorder()
	run.ServeHTTP(recorder, request)
	return recorder
}

func TestHosts_OtherNameIsRefused(t *testing.T) {
	run := handlerOf(t, Server{}, loopbackAddress)
	for _, path := range []string{"/", "/metrics"} {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodOptions} {
			got := serve(run, method, path, "{}", "Host: evil.example")
			if got.Code != http.StatusForbidden || !strings.Contains(got.Body.String(), `the host \"evil.example\" is not allowed: allow it with --allow-host`) {
				t.Errorf("%s %s: %d %s", method, path, got.Code, got.Body)
			}
		}
	}
	if got := serve(run, http.MethodPost, "/", "{}"); got.Code != http.StatusOK {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

func TestPagesOfAllowedOriginsAreServed(t *testing.T) {
	const page = "http://localhost:3000"
	run := handlerOf(t, Server{AllowedOrigins: []string{page}}, loopbackAddress)
	asked := serve(run, http.MethodOptions, "/", "", "Origin: "+page, "Access-Control-Request-Method: POST",
		"Access-Control-Request-Headers: authorization,content-type, X-Amz-Target,amz-sdk-request,x-evil,x-amz-a b,cookie")
	header := asked.Header()
	if asked.Code != http.StatusNoContent || header.Get("Access-Control-Allow-Origin") != page || header.Get("Access-Control-Allow-Methods") != "POST" ||
		header.Get("Access-Control-Allow-Headers") != "authorization, content-type, x-amz-target, amz-sdk-request" ||
		!slices.Contains(header.Values("Vary"), "Origin") {
		t.Errorf("%d %v", asked.Code, header)
	}
	got := serve(run, http.MethodPost, "/", "{}", "Origin: "+page, "Sec-Fetch-Site: cross-site")
	header = got.Header()
	if got.Code != http.StatusOK || header.Get("Access-Control-Allow-Origin") != page || header.Get("Vary") != "Origin" ||
		header.Get("Access-Control-Expose-Headers") != "x-amzn-requestid, x-amz-crc32" || header.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("%d %v", got.Code, header)
	}
}

func TestPagesOfOtherOriginsAreRefused(t *testing.T) {
	run := handlerOf(t, Server{AllowedOrigins: []string{"http://localhost:3000"}}, loopbackAddress)
	for _, headers := range [][]string{
		{"Origin: http://evil.example"}, {"Origin: null"}, {"Origin: http://localhost:3000.evil.example"}, {"Origin: http://localhost:3001"},
		{"Origin: https://localhost:3000"}, {"Sec-Fetch-Site: cross-site"}, {"Sec-Fetch-Site: same-site"},
	} {
		got := serve(run, http.MethodPost, "/", "{}", headers...)
		if got.Code != http.StatusForbidden || got.Header().Get("Access-Control-Allow-Origin") != "" || got.Header().Get("Vary") != "Origin" {
			t.Errorf("%q: %d %v", headers, got.Code, got.Header())
		}
		got = serve(run, http.MethodOptions, "/", "", append(headers, "Access-Control-Request-Method: POST")...)
		if got.Code != http.StatusForbidden || got.Header().Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%q asks: %d %v", headers, got.Code, got.Header())
		}
		if got = serve(run, http.MethodGet, "/", "", headers...); got.Header().Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%q reads: %v", headers, got.Header())
		}
	}
	// Programs other than browsers send no Origin, or their own.
	if got := serve(run, http.MethodPost, "/", "{}", "Origin: http://localhost:8000"); got.Code != http.StatusOK {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

// FuzzHost checks that only localhost and loopback addresses are accepted on a loopback address.
func FuzzHost(f *testing.F) {
	for _, seed := range []string{"localhost", "127.0.0.1:8000", "[::1]:80", "[::1%lo]", "evil.example", "localhost.evil", "[localhost]", "a:b:c", "..", ""} {
		f.Add(seed)
	}
	hosts := allowHosts(loopbackAddress, nil)
	f.Fuzz(func(t *testing.T, header string) {
		if !hosts.allow(header) {
			return
		}
		u, err := url.Parse("http://" + header)
		if err != nil {
			return // no browser sends it
		}
		name := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
		if address, err := netip.ParseAddr(name); name != "localhost" && (err != nil || !address.Unmap().IsLoopback()) {
			t.Errorf("%q with the name %q is accepted", header, name)
		}
	})
}

// FuzzOrigin checks that an accepted origin is written as browsers write it.
func FuzzOrigin(f *testing.F) {
	for _, seed := range []string{"http://localhost:3000", "*", "null", "http://a/", "http://u:p@a", "https://[::1]:1", "a://b?c", "http://a:80", "http://ä"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, origin string) {
		if _, err := allowOrigins([]string{origin}); err != nil {
			return
		}
		u, err := url.Parse(origin)
		if err != nil || u.Scheme+"://"+u.Host != origin || strings.ContainsAny(origin, "*/ \r\n,@?#") && strings.Count(origin, "/") != 2 ||
			strings.ToLower(origin) != origin {
			t.Errorf("%q is accepted: %v", origin, err)
		}
	})
}
