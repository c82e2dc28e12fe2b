package attribute

import (
	"reflect"
	"strings"
	"testing"
)

// FuzzPlainValue compares plainValue with the general decoder.
func FuzzPlainValue(f *testing.F) {
	long := strings.Repeat("QUJD", codedBlock/2)
	for _, seed := range []string{
		`{"S":""}`, `{"S":"text"}`, `{"S":"té"}`, `{"S":"a\"}`, `{"S":"a"b"}`, "{\"S\":\"\n\"}", `{"N":"17"}`, `{"N":"-0"}`, `{"N":"1e3"}`, `{"N":""}`,
		`{"B":""}`, `{"B":"QUI="}`, `{"B":"QQ=="}`, `{"B":"QQ="}`, `{"B":"QR=="}`, `{"B":"QQ==QUJD"}`, "{\"B\":\"QUJD\n\n\n\n\"}", "{\"B\":\"\nQ\nQ=\n=\n\"}",
		`{"B":"` + long + `"}`, `{"B":"` + long + `QUI="}`, `{"B":"` + long[:codedBlock-4] + `QQ==` + long + `"}`, `{"B":"Q","S":"x"}`,
		`{"X":"17"}`, `{"S" :"a"}`, `{"S":"}`, `{"N":"1"},{"N":"2"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, plain := plainValue(data)
		if !plain {
			return
		}
		r := jsonReader{src: string(data)}
		want, err := r.value(0)
		if err == nil {
			err = r.end()
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %+v, want %+v, %v", data, got, want, err)
		}
	})
}

func TestValuesOfPlainEventsAreDecodedFast(t *testing.T) {
	t.Parallel()
	for _, value := range []string{`{"S":"journal-P-account-1-0"}`, `{"N":"17"}`, `{"B":"AAECAwQFBgcICQoLDA0ODw=="}`, `{"S":""}`, `{"B":""}`} {
		if _, plain := plainValue([]byte(value)); !plain {
			t.Errorf("%s is not taken for plain", value)
		}
	}
}
