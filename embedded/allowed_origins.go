package embedded

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// allowedOrigins are the origins whose pages may send requests to a server from a browser (CORS).
// Other pages are refused: a browser asks for permission before most of their requests, and the
// requests that it sends without asking are recognized.
type allowedOrigins struct {
	exact      map[string]bool
	protection *http.CrossOriginProtection
}

func allowOrigins(origins []string) (allowedOrigins, error) {
	a := allowedOrigins{exact: map[string]bool{}, protection: http.NewCrossOriginProtection()}
	for _, origin := range origins {
		if err := checkOrigin(origin); err != nil {
			return a, err
		}
		if err := a.protection.AddTrustedOrigin(origin); err != nil {
			return a, fmt.Errorf("origin: %w", err)
		}
		a.exact[origin] = true
	}
	return a, nil
}

// checkOrigin returns an error if an origin is not written as browsers write it. Origins are
// compared byte by byte.
func checkOrigin(origin string) error {
	problem := originProblem(origin)
	if problem == nil {
		return nil
	}
	return fmt.Errorf("origin %.200q: %w: write it as SCHEME://HOST[:PORT], such as http://localhost:3000", origin, problem)
}

func originProblem(origin string) error {
	if strings.Contains(origin, "*") {
		return errors.New("only exact origins can be allowed")
	}
	u, err := url.Parse(origin)
	switch {
	case err != nil:
		return errors.New("it is not a URL")
	case u.Scheme == "" || u.Hostname() == "":
		return errors.New("it has no scheme or no host")
	case u.Path != "":
		return errors.New("it has a path or a slash at its end")
	case origin != u.Scheme+"://"+u.Host: // user, query and fragment, or capitals in the scheme
		return errors.New("it has more than scheme, host and port, or capitals")
	case u.Scheme == "http" && u.Port() == "80", u.Scheme == "https" && u.Port() == "443", strings.HasSuffix(u.Host, ":"):
		return errors.New("browsers omit the scheme's default port")
	}
	for _, r := range u.Host {
		if r <= ' ' || r >= 0x7f || r >= 'A' && r <= 'Z' {
			return errors.New("browsers write the host in lower case, and other letters as punycode")
		}
	}
	return nil
}

// admit responds to the preflight requests of browsers, and refuses requests of pages that are not
// allowed. proceed reports whether the caller has to respond.
func (a *allowedOrigins) admit(w http.ResponseWriter, request *http.Request) (proceed bool, refused error) {
	header := w.Header()
	header.Add("Vary", "Origin")
	origin := request.Header.Get("Origin")
	allowed := a.exact[origin]
	if allowed {
		header.Set("Access-Control-Allow-Origin", origin)
		header.Set("Access-Control-Expose-Headers", "x-amzn-requestid, x-amz-crc32")
	}
	asks := request.Method == http.MethodOptions && request.Header.Get("Access-Control-Request-Method") != ""
	if asks && allowed {
		header.Add("Vary", "Access-Control-Request-Headers")
		header.Set("Access-Control-Allow-Methods", http.MethodPost)
		headers := allowedHeaders(request.Header.Values("Access-Control-Request-Headers"))
		header.Set("Access-Control-Allow-Headers", strings.Join(headers, ", "))
		header.Set("Access-Control-Max-Age", "600")
		w.WriteHeader(http.StatusNoContent)
		return false, nil
	}
	if asks || a.protection.Check(request) != nil {
		return false, fmt.Errorf(
			"the origin %.200q is not allowed: allow it with --allow-origin, in Go with Server.AllowedOrigins", origin)
	}
	return true, nil
}

// allowedHeaders returns the requested headers that SDKs send.
func allowedHeaders(requested []string) []string {
	var allowed []string
	for _, list := range requested {
		for name := range strings.SplitSeq(list, ",") {
			name = strings.ToLower(strings.Trim(name, " \t"))
			switch {
			case name == "authorization", name == "content-type", name == "content-encoding",
				headerName(name, "x-amz-"), headerName(name, "amz-sdk-"):
				allowed = append(allowed, name)
			}
		}
	}
	return allowed
}

// headerName reports whether a lower-case name has the prefix and is valid in a header.
func headerName(name, prefix string) bool {
	rest, found := strings.CutPrefix(name, prefix)
	return found && rest != "" && strings.Trim(rest, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}
