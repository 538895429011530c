package cmd

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"academy.example/lab/labctl/internal/lab"
	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/labctl/internal/timeline"
)

const schemas = "../../../docs/schema"

// schemaNode is an object of a schema, and the whole that its references are looked up in.
type schemaNode struct {
	whole, at map[string]any
}

func readSchema(t *testing.T, name string) schemaNode {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(schemas, name))
	if err != nil {
		t.Fatal(err)
	}
	var whole map[string]any
	if err := json.Unmarshal(data, &whole); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return schemaNode{whole, whole}
}

// child returns what is below a key, with its reference resolved, also where null is allowed beside it.
func (n schemaNode) child(keys ...string) schemaNode {
	at := n.at
	for _, key := range keys {
		at, _ = at[key].(map[string]any)
	}
	if choice, ok := at["anyOf"].([]any); ok {
		at, _ = choice[0].(map[string]any)
	}
	if ref, ok := at["$ref"].(string); ok {
		at, _ = n.whole["$defs"].(map[string]any)[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
	}
	return schemaNode{n.whole, at}
}

// TestSchemas_NameEveryField compares the fields of the Go structs with the schemas, both ways.
func TestSchemas_NameEveryField(t *testing.T) {
	for name, value := range map[string]any{
		"failover.schema.json": report.Failover{}, "event.schema.json": timeline.Event{}, "run.schema.json": lab.RunInfo{}, "mutants.schema.json": mutantsResult{},
		"gate-run.schema.json": gateRunResult{}, "gate-status.schema.json": gateStatusResult{}, "gate-check.schema.json": gateCheckResult{},
		"heartbeat.schema.json": heartbeatResult{}, "heartbeat-run.schema.json": heartbeatRun{}, "readmission.schema.json": gateResult{},
	} {
		compareType(t, name, reflect.TypeOf(value), readSchema(t, name))
	}
}

func compareType(t *testing.T, path string, typ reflect.Type, n schemaNode) {
	t.Helper()
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	switch {
	case n.at == nil:
		t.Errorf("%s: the schema has nothing there", path)
	case typ.Implements(reflect.TypeFor[json.Marshaler]()):
		compareMarshaler(t, path, typ, n)
	case typ.Kind() == reflect.Struct:
		compareStruct(t, path, typ, n)
	case typ.Kind() == reflect.Slice:
		compareType(t, path+"[]", typ.Elem(), n.child("items"))
	case typ.Kind() == reflect.Map:
		compareMap(t, path, typ, n)
	default:
		compareLeaf(t, path, typ, n)
	}
}

// compareMarshaler looks at what the type's own method writes.
func compareMarshaler(t *testing.T, path string, typ reflect.Type, n schemaNode) {
	t.Helper()
	data, err := json.Marshal(reflect.Zero(typ).Interface())
	if err != nil {
		t.Fatal(err)
	}
	var object map[string]any
	if json.Unmarshal(data, &object) != nil || object == nil {
		return // a word or a time
	}
	keys := slices.Sorted(maps.Keys(object))
	comparePresence(t, path, n, keys, keys)
}

func compareStruct(t *testing.T, path string, typ reflect.Type, n schemaNode) {
	t.Helper()
	var names, required []string
	for _, f := range reflect.VisibleFields(typ) {
		tag, ok := f.Tag.Lookup("json")
		if !ok {
			continue // embedded; its fields are visible themselves
		}
		name, options, _ := strings.Cut(tag, ",")
		names = append(names, name)
		if options == "" {
			required = append(required, name)
		}
		compareType(t, path+"."+name, f.Type, n.child("properties", name))
		properties, _ := n.at["properties"].(map[string]any)
		property, _ := properties[name].(map[string]any)
		about, _ := property["description"].(string)
		if about == "" {
			t.Errorf("%s.%s has no description", path, name)
		}
		if f.Type.Kind() == reflect.Pointer && options == "" && !(nullable(property) && strings.Contains(about, "ull ")) {
			t.Errorf("%s.%s can be null; the schema must allow that and say when", path, name)
		}
	}
	comparePresence(t, path, n, names, required)
}

func nullable(property map[string]any) bool {
	data, _ := json.Marshal([]any{property["type"], property["anyOf"]})
	return strings.Contains(string(data), `"null"`)
}

func comparePresence(t *testing.T, path string, n schemaNode, names, required []string) {
	t.Helper()
	properties, _ := n.at["properties"].(map[string]any)
	var demanded []string
	for _, name := range anys(n.at["required"]) {
		demanded = append(demanded, name.(string))
	}
	slices.Sort(names)
	slices.Sort(required)
	slices.Sort(demanded)
	if got := slices.Sorted(maps.Keys(properties)); !slices.Equal(got, names) {
		t.Errorf("%s: the schema has the properties\n%v, the struct\n%v", path, got, names)
	}
	if !slices.Equal(demanded, required) {
		t.Errorf("%s: the schema requires\n%v, the struct always writes\n%v", path, demanded, required)
	}
	if n.at["additionalProperties"] != false {
		t.Errorf("%s: additionalProperties is not false", path)
	}
}

func anys(v any) []any {
	list, _ := v.([]any)
	return list
}

// compareMap compares the values of a map, whose keys are any or a few that the schema names.
func compareMap(t *testing.T, path string, typ reflect.Type, n schemaNode) {
	t.Helper()
	if _, open := n.at["additionalProperties"].(map[string]any); open {
		compareType(t, path+".*", typ.Elem(), n.child("additionalProperties"))
		return
	}
	properties, _ := n.at["properties"].(map[string]any)
	if got := slices.Sorted(maps.Keys(properties)); !slices.Equal(got, timeline.Instants()) {
		t.Errorf("%s: the schema has the keys %v, want the instants", path, got)
	}
	for key := range properties {
		compareType(t, path+"."+key, typ.Elem(), n.child("properties", key))
	}
}

func compareLeaf(t *testing.T, path string, typ reflect.Type, n schemaNode) {
	t.Helper()
	want := map[reflect.Kind]string{reflect.String: "string", reflect.Bool: "boolean", reflect.Float64: "number",
		reflect.Int: "integer", reflect.Int64: "integer", reflect.Uint64: "integer"}[typ.Kind()]
	_, fixed := n.at["const"]
	if data, _ := json.Marshal(n.at["type"]); !fixed && !strings.Contains(string(data), `"`+want+`"`) {
		t.Errorf("%s: the schema says %s, the field is a %s", path, data, typ.Kind())
	}
}

// TestSchemas_NameEveryWord compares the schemas' enums with the constants of the types.
func TestSchemas_NameEveryWord(t *testing.T) {
	failover, event := readSchema(t, "failover.schema.json"), readSchema(t, "event.schema.json")
	trial := failover.child("$defs", "trial")
	for _, c := range []struct {
		folder, typ string
		n           schemaNode
	}{
		{"../timeline", "Kind", event.child("properties", "kind")},
		{"../timeline", "Class", trial.child("properties", "class")},
		{"../timeline", "Winner", trial.child("properties", "winner")},
		{"../timeline", "Source", failover.child("$defs", "source")},
		{"../check", "Verdict", failover.child("properties", "verdict")},
		{"../check", "Verdict", failover.child("$defs", "check", "properties", "verdict")},
	} {
		var got []string
		for _, word := range anys(c.n.at["enum"]) {
			if word, ok := word.(string); ok {
				got = append(got, word)
			}
		}
		slices.Sort(got)
		if want := constants(t, c.folder, c.typ); !slices.Equal(got, want) {
			t.Errorf("%s: the schema has %v, the constants are %v", c.typ, got, want)
		}
	}
}

// constants returns the values of a package's string constants of a type, sorted.
func constants(t *testing.T, folder, typ string) []string {
	t.Helper()
	files, err := filepath.Glob(folder + "/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if name, named := identOf(spec); ok && named && name == typ {
				for _, v := range spec.Values {
					if text, ok := v.(*ast.BasicLit); ok {
						value, _ := strconv.Unquote(text.Value)
						values = append(values, value)
					}
				}
			}
			return true
		})
	}
	slices.Sort(values)
	return values
}

func identOf(spec *ast.ValueSpec) (string, bool) {
	if spec == nil {
		return "", false
	}
	ident, ok := spec.Type.(*ast.Ident)
	if !ok {
		return "", false
	}
	return ident.Name, true
}
