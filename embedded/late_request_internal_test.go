package embedded

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestFault_SlowRequestReleasesMemoryAfterClientIsGone(t *testing.T) {
	wake := make(chan struct{})
	engine, err := OpenMemory(WithFaults(Fault{Effect: EffectSlow, Delay: time.Hour}), WithSleep(func(context.Context, time.Duration) error {
		<-wake
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	run, err := (&Server{Engine: engine}).start(addressListener{newPipes(), loopbackAddress})
	if err != nil {
		t.Fatal(err)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	request := httptest.NewRequestWithContext(withConnection(gone, &connection{of: run.open}), http.MethodPost, "/", strings.NewReader("{}"))
	request.Host = "localhost"
	request.Header.Set("X-Amz-Target", "DynamoDB_20120810.ListTables")
	request.Header.Set("Authorization", "AWS4-HMAC-SHA256 x")
	request.Header.Set("Content-Type", contentType)
	func() {
		defer func() {
			if recover() == nil { // a panic closes the connection
				t.Error("the connection stays open")
			}
		}()
		run.ServeHTTP(httptest.NewRecorder(), request)
	}()
	close(wake)
	if err := engine.Close(); err != nil { // it waits for the request
		t.Error(err)
	}
	if used, _ := run.responses.usage(); used != 0 {
		t.Errorf("%d bytes are reserved for responses", used)
	}
}
