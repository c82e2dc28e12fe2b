package expression

import "strconv"

// What DynamoDB charges for the parts of an update, in bytes, besides the values and names in them.
const (
	updateCharge      = 3
	assignmentCharge  = 19
	removalCharge     = 1
	targetStepCharge  = 4
	pathCharge        = 1
	pathStepCharge    = 14
	plusCharge        = 34
	minusCharge       = 37
	listAppendCharge  = 37
	ifNotExistsCharge = 39
)

// Charge returns the size of the update itself, in bytes, as DynamoDB measures it against the limit
// of items: what the clauses write, wherever that comes from in the request, with a cost for each.
// Neither the key nor what the update leaves alone is part of it. Of an update that was not parsed
// it is 0.
func (u *BoundUpdate) Charge() int {
	if u.actions == nil {
		return 0
	}
	charge := updateCharge
	for _, action := range u.actions {
		for i, step := range action.Path {
			charge += step.bytes(u.bindings)
			if i > 0 {
				charge += targetStepCharge
			}
		}
		switch action.Verb {
		case Set, Add:
			charge += assignmentCharge + operandCharge(action.Value, u.bindings)
		case Remove, Delete:
			charge += removalCharge
		}
	}
	return charge
}

func operandCharge(o Operand, bindings []binding) int {
	switch o := o.(type) {
	case Path:
		charge := pathCharge
		for _, step := range o {
			charge += pathStepCharge + step.bytes(bindings)
		}
		return charge
	case Sum:
		charge := plusCharge
		if o.Minus {
			charge = minusCharge
		}
		return charge + operandCharge(o.Left, bindings) + operandCharge(o.Right, bindings)
	case ListAppend:
		return listAppendCharge + operandCharge(o.Left, bindings) + operandCharge(o.Right, bindings)
	case IfNotExists:
		return ifNotExistsCharge + operandCharge(o.Path, bindings) + operandCharge(o.Default, bindings)
	}
	if v, fixed := fixedValue(o, bindings); fixed {
		return v.Size()
	}
	return 0
}

// bytes returns the length of the step as it is written: a name, or the digits of an index.
func (s Step) bytes(bindings []binding) int {
	if s.kind == elementStep {
		return len(strconv.Itoa(s.index))
	}
	return len(s.memberName(bindings))
}
