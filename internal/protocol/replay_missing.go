package protocol

// skip records a missing number that is decided on. The number counts as missing, unless the replay
// starts again before it, or it turns out to be deleted.
func (r *replay) skip(seq int64) {
	if r.req.Missing == nil {
		return
	}
	if n := len(r.progress.skipped); n > 0 && r.progress.skipped[n-1].Last == seq-1 {
		r.progress.skipped[n-1].Last = seq
		return
	}
	r.progress.skipped = append(r.progress.skipped, Span{seq, seq})
}

// reportSkipped reports the missing numbers before an event to Request.Missing.
func (r *replay) reportSkipped() {
	for _, span := range r.progress.skipped {
		r.req.Missing(span)
	}
	r.progress.skipped = r.progress.skipped[:0]
}

// within returns the parts of spans that lie between two numbers.
func within(spans []Span, from, to int64) []Span {
	var rest []Span
	for _, s := range spans {
		if s.First, s.Last = max(s.First, from), min(s.Last, to); s.First <= s.Last {
			rest = append(rest, s)
		}
	}
	return rest
}
