package dynamo

import "math"

// apportion divides a sum of capacity units in proportion to weights. The parts add up to the sum
// exactly. Each part is a multiple of half a unit, DynamoDB's smallest amount, if the sum is one.
// If the weights add up to the sum, each part equals its weight.
func apportion(sum float64, weights []int) []float64 {
	all := 0
	for _, w := range weights {
		all += w
	}
	parts := make([]float64, len(weights))
	upTo, given := 0, 0.0
	for i, w := range weights {
		if w == 0 {
			continue
		}
		upTo += w
		end := sum
		if upTo < all {
			end = math.Floor(2*sum*float64(upTo)/float64(all)) / 2
		}
		parts[i], given = end-given, end
	}
	return parts
}
