package timeline

import (
	"cmp"
	"encoding/json"
	"fmt"
)

// complaint tells a warning or an error of a replica in words: its message, and the reason and the hint that it gives.
func (l Log) complaint() string {
	var in struct {
		Message string `json:"msg"`
		Reason  string `json:"reason"`
		Error   string `json:"error"`
		Text    string `json:"text"`
		Hint    string `json:"hint"`
	}
	if err := json.Unmarshal([]byte(l.Raw), &in); err != nil || in.Message == "" {
		return fmt.Sprintf("%s: %s", l.Pod, cmp.Or(l.Raw, l.Message))
	}
	out := fmt.Sprintf("%s: %s", l.Pod, in.Message)
	if why := cmp.Or(in.Reason, in.Error, in.Text); why != "" {
		out += ": " + why
	}
	if in.Hint != "" {
		out += " (" + in.Hint + ")"
	}
	return out
}
