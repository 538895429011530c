package exercise

import (
	"slices"
	"strings"

	"academy.example/lab/labctl/internal/checklist/plain"
)

// Unpredicted returns the predictions that are not written down yet, in order. A nil entry has written none.
func (e Exercise) Unpredicted(entry *Entry) (missing []Question) {
	for _, q := range e.Questions {
		if q.Kind == Prediction && (entry == nil || entry.Answers[q.ID] == "") {
			missing = append(missing, q)
		}
	}
	return missing
}

// Shown is what may be read of the exercise. Until every prediction is written down that is the text from the section Predict to the
// one that asks for the first missing prediction, and the questions that stand before that one, with the other predictions:
// whatever comes later would give it away.
func (e Exercise) Shown(entry *Entry) (readme string, questions []Question) {
	missing := e.Unpredicted(entry)
	if len(missing) == 0 {
		return e.Readme, e.Questions
	}
	later := false
	for _, q := range e.Questions {
		later = later || q.ID == missing[0].ID
		if !later || q.Kind == Prediction {
			questions = append(questions, q)
		}
	}
	return e.until(missing[0].ID), questions
}

// predictSection is the heading of what is always shown.
const predictSection = "\n## Predict\n"

// until cuts the text off after the section that asks for a prediction. If none names it, that is the section Predict.
func (e Exercise) until(id string) string {
	title, _, _ := strings.Cut(e.Readme, "\n")
	_, rest, _ := strings.Cut(e.Readme, predictSection)
	sections := strings.Split(rest, "\n## ")
	n := 1
	for i, s := range sections {
		if strings.Contains(s, id+"=") {
			n = i + 1
			break
		}
	}
	return title + "\n" + predictSection + strings.TrimRight(strings.Join(sections[:n], "\n## "), "\n") + "\n"
}

// Typed is the command line that answers the question, with a word in place of the answer.
func (q Question) Typed() string { return "labctl exercise answer " + q.ID + "=" + q.blank() }

// Command is the command that a measured or an observed question names, between brackets; empty if it names none.
func (q Question) Command() string {
	_, after, found := strings.Cut(q.Ask, "(labctl ")
	line, _, closed := strings.Cut(after, ")")
	if !found || !closed {
		return ""
	}
	return "labctl " + line
}

// blank stands for an answer that is to be typed. None of them is taken for one.
func (q Question) blank() string {
	switch {
	case len(q.Options) > 0:
		return "LETTER"
	case q.Kind == Citation:
		return "FILE:LINE"
	case q.Kind == Text:
		return "'...'"
	case q.Live != nil && q.Live.Answer == AnswerHolder:
		return "NAME-OF-THE-POD"
	case q.Kind == Count || q.Live != nil || Unit(q.Figure) == "":
		return "NUMBER"
	default:
		return "SECONDS"
	}
}

// InWords is an answer as one reads it: an option by what it stands for, a figure with its unit.
func (q Question) InWords(answer string) string {
	n, err := plain.ParseNumber(answer)
	switch {
	case len(q.Options) > 0:
		return q.Options[letter(answer)]
	case answer == "" || err != nil:
		return answer
	default:
		return n.String() + Unit(q.Figure)
	}
}

// Copied reports whether a value is what the text has in the answer's place, and no answer.
func (e Exercise) Copied(id, value string) bool {
	return slices.Contains(e.blanks(id), strings.TrimSpace(value))
}

// blanks are the words that the text has in the place of an answer.
func (e Exercise) blanks(id string) (words []string) {
	for _, rest := range strings.Split(e.Readme, " "+id+"=")[1:] {
		words = append(words, shown(rest))
	}
	return words
}

// shown is the first word of a command line, without its quotes.
func shown(line string) string {
	if quoted, ok := strings.CutPrefix(line, "'"); ok {
		word, _, _ := strings.Cut(quoted, "'")
		return word
	}
	if words := strings.Fields(line); len(words) > 0 {
		return words[0]
	}
	return ""
}
