package engine

// turns has the tasks that may run now. The projections take turns, so that no projection waits
// until all tasks of another one have run. If there are several projections and several workers, no
// projection gets all workers, so that its slow calls leave a worker for the others.
type turns struct {
	// most is the maximum number of workers of a projection.
	most    int
	members []*Member
	queues  map[*Member][]*task
	running map[*Member]int
	// last is the index in members of the projection whose turn was last.
	last int
}

// newTurns returns the turns of projections that share a number of workers.
func newTurns(members []*Member, workers int) turns {
	q := turns{most: workers, members: members, queues: map[*Member][]*task{}, running: map[*Member]int{}}
	if len(members) > 1 {
		q.most = max(workers-1, 1)
	}
	return q
}

// add puts a task last in the queue of its projection.
func (q *turns) add(t *task) { q.queues[t.of] = append(q.queues[t.of], t) }

// take removes and returns the next task, or nil if no task can run now. The task counts as running
// until end is called.
func (q *turns) take() *task {
	for i := range q.members {
		place := (q.last + 1 + i) % len(q.members)
		of := q.members[place]
		if len(q.queues[of]) == 0 || q.running[of] >= q.most {
			continue
		}
		t := q.queues[of][0]
		q.queues[of] = q.queues[of][1:]
		q.running[of]++
		q.last = place
		return t
	}
	return nil
}

// end records that a projection uses one worker less.
func (q *turns) end(of *Member) { q.running[of]-- }

// ready reports whether take would find a task.
func (q *turns) ready() bool {
	for _, of := range q.members {
		if len(q.queues[of]) > 0 && q.running[of] < q.most {
			return true
		}
	}
	return false
}
