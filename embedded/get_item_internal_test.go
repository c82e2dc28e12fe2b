package embedded

import (
	"net/http"
	"testing"
)

func TestGetItem_ReusedKeyMapIsCleared(t *testing.T) {
	run := handlerOf(t, Server{}, loopbackAddress)
	withTable(t, run, "orders")
	serve(run, http.MethodPost, "/", `{"TableName":"orders","Item":{"pk":{"S":"a"}}}`, put)
	for _, c := range []struct {
		what, key string
		want      int
	}{
		{"an attribute too many", `"Key":{"pk":{"S":"a"},"other":{"S":"b"}}`, http.StatusBadRequest},
		{"JSON that ends in the key", `"Key":{"other":{"S":"b"},"more":{"S":`, http.StatusBadRequest},
		{"the key", `"Key":{"pk":{"S":"a"}}`, http.StatusOK},
		{"another key before the key", `"Key":{"other":{"S":"b"}},"Key":{"pk":{"S":"a"}}`, http.StatusOK},
	} {
		for range 10 {
			got := serve(run, http.MethodPost, "/", `{"TableName":"orders",`+c.key+`}`, "X-Amz-Target: DynamoDB_20120810.GetItem")
			if got.Code != c.want || c.want == http.StatusOK && got.Body.String() != `{"Item":{"pk":{"S":"a"}}}` {
				t.Errorf("%s: %d %s", c.what, got.Code, got.Body)
			}
		}
	}
}
