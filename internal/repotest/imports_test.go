package repotest

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const modulePath = "github.com/dynajournal/dynajournal"

// dependencies returns the packages that a program compiles if it imports the package of a folder.
func dependencies(t *testing.T, folder string) []string {
	t.Helper()
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skipf("skipped: it asks the go command, which is not found: %v", err)
	}
	list := exec.CommandContext(t.Context(), tool, "list", "-deps", folder)
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list -deps %s: %v", folder, err)
	}
	return strings.Fields(string(out))
}

// within reports whether a package is a path, or below it.
func within(pkg, path string) bool { return pkg == path || strings.HasPrefix(pkg, path+"/") }

func TestRootPackageCompilesNeitherStorageNorConfigurationOfAWS(t *testing.T) {
	t.Parallel()
	deps := dependencies(t, ".")
	if !slices.Contains(deps, "github.com/aws/aws-sdk-go-v2/service/dynamodb") {
		t.Fatalf("the list is not that of the root package: %v", deps)
	}
	for _, pkg := range deps {
		for _, unwanted := range []string{
			"github.com/cockroachdb",
			"github.com/aws/aws-sdk-go-v2/config",
			modulePath + "/embedded",
			modulePath + "/cmd",
			"testing",
		} {
			if within(pkg, unwanted) {
				t.Errorf("it compiles %s", pkg)
			}
		}
	}
}

func TestLegacyCompilesNeitherTheEngineNorTheCommand(t *testing.T) {
	t.Parallel()
	deps := dependencies(t, "./legacy")
	if !slices.Contains(deps, modulePath) {
		t.Fatalf("the list is not that of the package: %v", deps)
	}
	for _, pkg := range deps {
		for _, unwanted := range []string{"github.com/cockroachdb", modulePath + "/embedded", modulePath + "/cmd", modulePath + "/journaltest"} {
			if within(pkg, unwanted) {
				t.Errorf("it compiles %s", pkg)
			}
		}
	}
}

func TestApplicationConfCompilesNeitherTheEngineNorTheConfigurationOfAWS(t *testing.T) {
	t.Parallel()
	deps := dependencies(t, "./applicationconf")
	if !slices.Contains(deps, modulePath) {
		t.Fatalf("the list is not that of the package: %v", deps)
	}
	for _, pkg := range deps {
		for _, unwanted := range []string{
			"github.com/cockroachdb", "github.com/aws/aws-sdk-go-v2/config", modulePath + "/embedded", modulePath + "/cmd",
		} {
			if within(pkg, unwanted) {
				t.Errorf("it compiles %s", pkg)
			}
		}
	}
}

// The test kit of entities may compile the engine. Programs with entities must not compile the kit.
func TestEntitiesCompileNeitherTheEngineNorTheirTestKit(t *testing.T) {
	t.Parallel()
	deps := dependencies(t, "./entity")
	if !slices.Contains(deps, modulePath) {
		t.Fatalf("the list is not that of the package: %v", deps)
	}
	for _, pkg := range deps {
		for _, unwanted := range []string{"github.com/cockroachdb", modulePath + "/embedded", modulePath + "/entity/entitytest", "testing"} {
			if within(pkg, unwanted) {
				t.Errorf("it compiles %s", pkg)
			}
		}
	}
}

// Only programs with projections whose effects are in a SQL database compile package database/sql.
func TestOnlySQLProjectionsCompileDatabaseSQL(t *testing.T) {
	t.Parallel()
	for folder, wanted := range map[string]bool{
		".": false, "./entity": false, "./process": false, "./projection": false, "./projection/operator": false,
		"./projection/outbox": false, "./projection/tags": false, "./projection/awslambda": false,
		"./projection/sqlprojection": true,
	} {
		if slices.Contains(dependencies(t, folder), "database/sql") != wanted {
			t.Errorf("%s compiles it: %v", folder, !wanted)
		}
	}
}

func TestEngineDependsOnNothingOfTheProject(t *testing.T) {
	t.Parallel()
	for _, pkg := range dependencies(t, "./embedded") {
		if within(pkg, modulePath) && !within(pkg, modulePath+"/embedded") {
			t.Errorf("it compiles %s", pkg)
		}
	}
}

// Only programs with projections compile the client for streams. Process managers are projections.
func TestOnlyProjectionsCompileTheClientForStreams(t *testing.T) {
	t.Parallel()
	const client = "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	for folder, wanted := range map[string]bool{
		".": false, "./entity": false, "./process": true, "./projection": true,
	} {
		deps := dependencies(t, folder)
		if slices.Contains(deps, client) != wanted {
			t.Errorf("%s compiles it: %v", folder, !wanted)
		}
		for _, pkg := range deps {
			if wanted && (within(pkg, "github.com/cockroachdb") || within(pkg, modulePath+"/embedded")) {
				t.Errorf("%s compiles %s", folder, pkg)
			}
		}
	}
}
