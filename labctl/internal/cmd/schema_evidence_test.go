package cmd

import (
	"reflect"
	"slices"
	"testing"

	"academy.example/lab/labctl/internal/evidence"
)

// TestSchemas_OfEvidence_NameEveryField compares what the evidence and class commands print with the schemas, both ways.
func TestSchemas_OfEvidence_NameEveryField(t *testing.T) {
	for name, value := range map[string]any{
		"evidence.schema.json": evidence.Manifest{}, "evidence-export.schema.json": evidenceExported{}, "evidence-verify.schema.json": evidenceVerified{},
		"evidence-summary.schema.json": evidence.Summary{}, "class.schema.json": evidence.Class{}, "class-joined.schema.json": classJoined{},
		"class-kubeconfigs.schema.json": classGrants{}, "class-withdrawn.schema.json": classWithdrawn{},
	} {
		compareType(t, name, reflect.TypeOf(value), readSchema(t, name))
	}
	var got []string
	for _, word := range anys(readSchema(t, "evidence-verify.schema.json").child("$defs", "finding", "properties", "what").at["enum"]) {
		got = append(got, word.(string))
	}
	slices.Sort(got)
	if want := constants(t, "../evidence", "What"); !slices.Equal(got, want) {
		t.Errorf("the schema has %v, the constants are %v", got, want)
	}
}
