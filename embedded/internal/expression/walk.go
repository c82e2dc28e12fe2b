package expression

func (t And) operands(visit func(Operand)) {
	t.Left.operands(visit)
	t.Right.operands(visit)
}

func (t Or) operands(visit func(Operand)) {
	t.Left.operands(visit)
	t.Right.operands(visit)
}

func (t Not) operands(visit func(Operand)) { t.Test.operands(visit) }

func (t Comparison) operands(visit func(Operand)) {
	visit(t.Left)
	visit(t.Right)
}

func (t Between) operands(visit func(Operand)) {
	visit(t.Operand)
	visit(t.Low)
	visit(t.High)
}

func (t In) operands(visit func(Operand)) {
	visit(t.Operand)
	for _, o := range t.List {
		visit(o)
	}
}

func (t Exists) operands(visit func(Operand)) { visit(t.Operand) }

func (t TypeIs) operands(visit func(Operand)) {
	visit(t.Operand)
	visit(t.Type)
}

func (t BeginsWith) operands(visit func(Operand)) {
	visit(t.Operand)
	visit(t.Prefix)
}

func (t Contains) operands(visit func(Operand)) {
	visit(t.Operand)
	visit(t.Member)
}

func (t malformed) operands(visit func(Operand)) {
	for _, o := range t.arguments {
		visit(o)
	}
}
