package cmd

import (
	"errors"
	"fmt"
	"strings"

	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/operator/api"
)

// parseTiming reads the value of --timing of a command. Whatever is wrong with it becomes one error, with the nearest
// timing that is safe as the hint.
func parseTiming(command, value string) (api.Timing, error) {
	const flag = "--timing"
	t, err := api.Parse(value)
	if err != nil {
		return t, &provider.Problem{Err: fmt.Errorf("%s %s: want default, fast or LeaseDuration/RenewDeadline/RetryPeriod in seconds", flag, value), Hint: command + " " + flag + " 15/10/2"}
	}
	if err := t.Validate(); err != nil {
		var wrong []string
		for _, p := range api.Problems(err) {
			wrong = append(wrong, p.What)
		}
		return t, &provider.Problem{Err: errors.New(flag + " " + value + ": " + strings.Join(wrong, "; ")), Hint: command + " " + flag + " " + t.Repaired().String()}
	}
	return t, nil
}

// claimed reads the value of --claim, which need not be safe: it is what somebody believes that an operator runs with.
func claimed(command, value string) (api.Timing, error) {
	t, err := api.Parse(value)
	if err == nil && !(report.Header{Timing: t}).Modelled() {
		err = errors.New("no operator runs with that")
	}
	if err != nil {
		return t, &provider.Problem{Err: fmt.Errorf("--claim %s: want default, fast or LeaseDuration/RenewDeadline/RetryPeriod in seconds", value), Hint: command + " --claim 15/10/2"}
	}
	return t, nil
}
