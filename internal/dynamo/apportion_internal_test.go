package dynamo

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestApportion(t *testing.T) {
	for _, c := range []struct {
		sum     float64
		weights []int
		want    []float64
	}{
		{4, []int{1, 3}, []float64{1, 3}},
		{8, []int{1, 3}, []float64{2, 6}},
		{2, []int{0, 1, 0, 1}, []float64{0, 1, 0, 1}},
		{1, []int{1, 1, 1}, []float64{0, 0.5, 0.5}},
		{7, []int{1, 1}, []float64{3.5, 3.5}},
		{0.3, []int{1, 1}, []float64{0, 0.3}},
		{0, []int{1, 1}, []float64{0, 0}},
		{3, []int{0}, []float64{0}},
	} {
		if got := apportion(c.sum, c.weights); !slices.Equal(got, c.want) {
			t.Errorf("%v by %v: %v, want %v", c.sum, c.weights, got, c.want)
		}
	}
}

func TestApportionedPartsAddUpToTheSum(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		weights := make([]int, 1+random.IntN(25))
		for i := range weights {
			weights[i] = random.IntN(401)
		}
		weights[random.IntN(len(weights))]++
		want := float64(random.IntN(20_000)) / 2
		sum := 0.0
		for i, part := range apportion(want, weights) {
			sum += part
			if part < 0 || 2*part != float64(int(2*part)) || weights[i] == 0 && part != 0 {
				t.Fatalf("%v by %v: a part is %v", want, weights, part)
			}
		}
		if sum != want {
			t.Fatalf("%v by %v adds up to %v", want, weights, sum)
		}
	}
}
