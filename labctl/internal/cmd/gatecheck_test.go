package cmd

import (
	"strconv"
	"testing"

	"academy.example/lab/exercises"
	"academy.example/lab/labctl/internal/exercise"
	"academy.example/lab/operator/lease/gate/model"
)

// A count that an exercise asks for is what gate check prints today.
func TestExercises_CountsAreThoseOfTheModel(t *testing.T) {
	all, err := exercise.Load(exercises.FS)
	if err != nil {
		t.Fatal(err)
	}
	for number, variant := range map[string]model.Variant{"20": model.Right, "22": model.Frozen} {
		if variant == model.Right && testing.Short() {
			continue // eight seconds
		}
		e, _ := exercise.Find(all, number)
		q, ok := e.Question("states")
		if !ok || q.Kind != exercise.Count {
			t.Fatalf("exercise %s asks for no count of states", number)
		}
		states := 0
		for _, scope := range model.Scopes(variant) {
			r, err := model.Check(t.Context(), scope)
			if err != nil {
				t.Fatal(err)
			}
			if states += r.States; r.Violation != "" {
				break
			}
		}
		if q.Correct != strconv.Itoa(states) {
			t.Errorf("exercise %s: %s states are right, the model has %d", number, q.Correct, states)
		}
	}
}
