package testsize_test

import (
	"testing"

	"github.com/dynajournal/dynajournal/internal/testsize"
)

func TestSizeFollowsTheBuildTag(t *testing.T) {
	t.Parallel()
	want := 1
	if testsize.Long {
		want = 100
	}
	if got := testsize.Of(1, 100); got != want {
		t.Errorf("the size is %d, want %d", got, want)
	}
}
