package repotest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// publicPackages are the folders of the packages that other modules may import.
var publicPackages = []string{".", "applicationconf", "embedded", "entity", "entity/entitytest", "journaltest", "legacy", "legacy/migration", "payloads", "process", "projection", "projection/awslambda", "projection/operator", "projection/outbox", "projection/sqlprojection", "projection/tags", "serialization"}

// The documentation of an exported alias of an internal type, or of a signature with an internal
// type, shows users neither fields nor methods.
func TestExportedAPI_DocumentedWithoutInternalTypes(t *testing.T) {
	t.Parallel()
	for _, folder := range publicPackages {
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			p := parsePublicPackage(t, folder)
			if len(p.files) == 0 {
				t.Error("there are no files")
			}
			for _, file := range p.files {
				for _, decl := range file.Decls {
					p.declaration(decl)
				}
			}
		})
	}
}

// This test checks that the check itself finds faults.
func TestExportedAPI_FaultsAreFound(t *testing.T) {
	t.Parallel()
	const source = `package p

import (
	"example.com/internal/dynamo"
	other "example.com/internal/verify"
)

// Alias has a comment.
type Alias = dynamo.Cost

type Undocumented struct{}

// Struct has a comment.
type Struct struct {
	Field map[string]*other.Kind
	dynamo.Embedded
	hidden dynamo.Cost
	OK     hidden
}

type hidden = dynamo.Cost

// Hook has a comment.
type Hook any

// Config has a comment.
type Config struct{ Hooks []any }

// Function has a comment.
func Function(func(dynamo.Cost) error) {}

func (Struct) Method() {}

// Interface has a comment.
type Interface interface{ Call() dynamo.Cost }

// Default has a comment.
const Default = dynamo.Default

// ErrFine has a comment.
var ErrFine = dynamo.ErrFine

// Variable has a comment.
var Variable = dynamo.Variable

var Bare = 1

func unexported(dynamo.Cost) {}

func (hidden) Exported(dynamo.Cost) {}
`
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "p.go", source, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	p := &publicPackage{positions: files, files: []*ast.File{file}, report: func(at token.Position, text string) {
		found = append(found, strconv.Itoa(at.Line)+": "+text)
	}}
	p.index()
	for _, decl := range file.Decls {
		p.declaration(decl)
	}
	want := []string{
		"9: Alias has the internal type dynamo.Cost",
		"11: Undocumented has no comment",
		"15: Struct.Field has the internal type other.Kind",
		"16: Struct.Embedded has the internal type dynamo.Embedded",
		"18: Struct.OK has the internal type dynamo.Cost",
		"24: Hook is of type any",
		"27: Config.Hooks is of type any",
		"30: Function has the internal type dynamo.Cost",
		"32: Struct.Method has no comment",
		"35: Interface.Call has the internal type dynamo.Cost",
		"35: Interface.Call has no comment",
		"38: Default has the value of the internal dynamo.Default",
		"44: Variable has the value of the internal dynamo.Variable",
		"46: Bare has no comment",
	}
	if got := strings.Join(found, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("found\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// publicPackage checks the exported API of a package.
type publicPackage struct {
	positions *token.FileSet
	files     []*ast.File
	report    func(at token.Position, text string)

	// types are the types that the package declares. imports maps names in its files to import
	// paths.
	types   map[string]*ast.TypeSpec
	imports map[string]string
}

func parsePublicPackage(t *testing.T, folder string) *publicPackage {
	t.Helper()
	entries, err := os.ReadDir(inRoot(folder))
	if err != nil {
		t.Fatal(err)
	}
	p := &publicPackage{positions: token.NewFileSet(), report: func(at token.Position, text string) {
		t.Errorf("%s:%d: %s", at.Filename, at.Line, text)
	}}
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(p.positions, filepath.Join(inRoot(folder), name), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		p.files = append(p.files, file)
	}
	p.index()
	return p
}

func (p *publicPackage) index() {
	p.types, p.imports = map[string]*ast.TypeSpec{}, map[string]string{}
	for _, file := range p.files {
		for _, spec := range file.Imports {
			imported, _ := strconv.Unquote(spec.Path.Value) // it was parsed
			name := path.Base(imported)
			if spec.Name != nil {
				name = spec.Name.Name
			}
			p.imports[name] = imported
		}
		for _, decl := range file.Decls {
			if decl, ok := decl.(*ast.GenDecl); ok {
				for _, spec := range decl.Specs {
					if spec, ok := spec.(*ast.TypeSpec); ok {
						p.types[spec.Name.Name] = spec
					}
				}
			}
		}
	}
}

func (p *publicPackage) errorf(at ast.Node, name, text string) {
	p.report(p.positions.Position(at.Pos()), name+" "+text)
}

func (p *publicPackage) documented(at ast.Node, name string, comments ...*ast.CommentGroup) {
	for _, comment := range comments {
		if strings.TrimSpace(comment.Text()) != "" {
			return
		}
	}
	p.errorf(at, name, "has no comment")
}

func (p *publicPackage) declaration(decl ast.Decl) {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		p.function(decl)
	case *ast.GenDecl:
		for _, spec := range decl.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				if spec.Name.IsExported() {
					p.documented(spec, spec.Name.Name, spec.Doc, decl.Doc)
					p.definition(spec)
				}
			case *ast.ValueSpec:
				p.values(decl, spec)
			}
		}
	}
}

// ofErrors lists methods that need no comment, because the standard library documents them.
var ofErrors = map[string]bool{"Error": true, "String": true, "Unwrap": true}

func (p *publicPackage) function(decl *ast.FuncDecl) {
	name := decl.Name.Name
	if !decl.Name.IsExported() {
		return
	}
	if decl.Recv != nil {
		receiver := receiverName(decl.Recv.List[0].Type)
		if !ast.IsExported(receiver) {
			return
		}
		name = receiver + "." + name
	}
	if decl.Recv == nil || !ofErrors[decl.Name.Name] {
		p.documented(decl, name, decl.Doc)
	}
	p.uses(name, decl.Type)
}

func receiverName(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiverName(t.X)
	case *ast.IndexExpr:
		return receiverName(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}

func (p *publicPackage) definition(spec *ast.TypeSpec) {
	name := spec.Name.Name
	p.hook(spec, name, spec.Type)
	switch t := spec.Type.(type) {
	case *ast.StructType:
		p.members(name, t.Fields, false)
	case *ast.InterfaceType:
		p.members(name, t.Methods, true)
	default:
		p.uses(name, spec.Type)
	}
}

// members checks the fields of a struct, or the methods of an interface.
func (p *publicPackage) members(of string, fields *ast.FieldList, methods bool) {
	for _, field := range fields.List {
		names := field.Names
		if len(names) == 0 { // embedded
			names = []*ast.Ident{ast.NewIdent(embeddedName(field.Type))}
		}
		for _, name := range names {
			if !name.IsExported() {
				continue
			}
			full := of + "." + name.Name
			p.hook(field, full, field.Type)
			p.uses(full, field.Type)
			if methods {
				p.documented(field, full, field.Doc, field.Comment)
			}
		}
	}
}

func embeddedName(t ast.Expr) string {
	if selector, ok := t.(*ast.SelectorExpr); ok {
		return selector.Sel.Name
	}
	return receiverName(t)
}

func (p *publicPackage) values(decl *ast.GenDecl, spec *ast.ValueSpec) {
	for i, name := range spec.Names {
		if !name.IsExported() {
			continue
		}
		p.documented(spec, name.Name, spec.Doc, spec.Comment, decl.Doc)
		if spec.Type != nil {
			p.uses(name.Name, spec.Type)
		}
		if i >= len(spec.Values) || decl.Tok == token.VAR && strings.HasPrefix(name.Name, "Err") {
			continue // the type of an error is error
		}
		if internal := p.internal(spec.Values[i]); internal != "" {
			p.errorf(spec, name.Name, "has the value of the internal "+internal)
		}
	}
}

// hook reports a hook whose type does not show a function.
func (p *publicPackage) hook(at ast.Node, name string, t ast.Expr) {
	if array, ok := t.(*ast.ArrayType); ok {
		t = array.Elt
	}
	id, ok := t.(*ast.Ident)
	if ok && id.Name == "any" && strings.Contains(name, "Hook") {
		p.errorf(at, name, "is of type any")
	}
}

// uses reports the internal types that a type uses.
func (p *publicPackage) uses(name string, t ast.Expr) {
	ast.Inspect(t, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.Field:
			for _, parameter := range node.Names {
				p.hook(node, name+" "+strings.ToUpper(parameter.Name[:1])+parameter.Name[1:], node.Type)
			}
		case *ast.SelectorExpr:
			if internal := p.internal(node); internal != "" {
				p.errorf(node, name, "has the internal type "+internal)
			}
			return false
		case *ast.Ident:
			if spec := p.types[node.Name]; spec != nil && !node.IsExported() && spec.Assign.IsValid() {
				if internal := p.internal(spec.Type); internal != "" {
					p.errorf(node, name, "has the internal type "+internal)
				}
			}
		}
		return true
	})
}

// internal returns the first identifier of an internal package in an expression, or "".
func (p *publicPackage) internal(e ast.Expr) string {
	found := ""
	ast.Inspect(e, func(node ast.Node) bool {
		selector, ok := node.(*ast.SelectorExpr)
		if !ok || found != "" {
			return found == ""
		}
		if id, ok := selector.X.(*ast.Ident); ok && strings.Contains("/"+p.imports[id.Name]+"/", "/internal/") {
			found = id.Name + "." + selector.Sel.Name
		}
		return true
	})
	return found
}
