package expression

import "strconv"

// The sizes of the parts of an update, in bytes, without their values and names.
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

// Charge returns the size of the update in bytes, for DynamoDB's limit on the size of items. It
// adds up the names, paths and values in the clauses, with an overhead for each. It includes
// neither the key nor unchanged attributes. It is 0 for an update that was not parsed.
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

// bytes returns the length of a step: of its name, or of the digits of its index.
func (s Step) bytes(bindings []binding) int {
	if s.kind == elementStep {
		return len(strconv.Itoa(s.index))
	}
	return len(s.memberName(bindings))
}
