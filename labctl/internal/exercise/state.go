package exercise

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

// Snapshot is the running lab at one moment.
type Snapshot struct {
	At              time.Time
	Replicas, Ready int
	Settled         bool
	Lease           *timeline.Lease
	Pods            []timeline.Pod
	Timing          api.Timing
	Identity        string
	ReleaseOnCancel bool
	// LeaseVerbs are what the operator may do to Leases, by verb; if that could not be asked, NoVerbs says why.
	LeaseVerbs map[string]bool
	NoVerbs    string
	// Logged are the messages in the replicas' logs, and Working the pods whose newest line of work is not older than two seconds.
	Logged  []string
	Working []string
	OnLoss  string // what a replica does when it loses the Lease
	Program string // what the Deployment runs in the operator's place; empty if nothing
	// WrittenAt is when the API server last wrote the Lease, by its clock and to the second; zero if it does not say.
	WrittenAt time.Time
	// Leaders is the sum of the replicas' gauge is_leader, and Answering how many of them answer the webhook; if one could not be
	// asked, NoAnswer says why.
	Leaders, Answering int
	NoAnswer           string
	Heartbeat          string // what a reader of the Lease is told: yes or no
	// Gate is when each scenario of labctl gate run was last done here, and as it has to be; not before the exercise was begun.
	Gate map[string]time.Time
}

// String tells it in one line.
func (s Snapshot) String() string {
	lease := "the Lease does not exist"
	if s.Lease != nil {
		lease = fmt.Sprintf("held by %q, leaseTransitions %d", s.Lease.Holder, s.Lease.Transitions)
	}
	return fmt.Sprintf("%s: %d of %d replicas ready, %s", s.At.Format(time.RFC3339), s.Ready, s.Replicas, lease)
}

// State is what an observation asks of the lab. What is not given is not asked.
type State struct {
	Replicas *int `json:"replicas,omitempty"` // exactly these are ready
	// Led is whether one of the replicas holds the Lease and renewed it within LeaseDuration.
	Led *bool `json:"led,omitempty"`
	// Workers is how many replicas log work.
	Workers *int `json:"workers,omitempty"`
	// May and MayNot are verbs on Leases that the operator has, or lacks.
	May    []string `json:"may,omitempty"`
	MayNot []string `json:"mayNot,omitempty"`
	Logged string   `json:"logged,omitempty"` // a message that stands in a replica's log
	// Settings of the operator.
	Timing          string `json:"timing,omitempty"`
	Identity        string `json:"identity,omitempty"`
	ReleaseOnCancel *bool  `json:"releaseOnCancel,omitempty"`
	OnLoss          string `json:"onLoss,omitempty"`
	Heartbeat       string `json:"heartbeat,omitempty"` // yes or no
	Gate            string `json:"gate,omitempty"`      // a scenario of labctl gate run that was done
	Belief
	// Answer is a field that the student writes down: holder or transitions. It must be what the Lease says then.
	Answer string `json:"answer,omitempty"`
}

// Fields of the Lease that can be asked for.
const (
	AnswerHolder      = "holder"
	AnswerTransitions = "transitions"
)

func (s State) valid() error {
	if s.Answer != "" && s.Answer != AnswerHolder && s.Answer != AnswerTransitions {
		return fmt.Errorf("answer %q is neither %s nor %s", s.Answer, AnswerHolder, AnswerTransitions)
	}
	if s.Replicas == nil && s.Led == nil && s.Workers == nil && s.May == nil && s.MayNot == nil && s.Logged == "" && s.Timing == "" &&
		s.Identity == "" && s.ReleaseOnCancel == nil && s.OnLoss == "" && s.Heartbeat == "" && s.Gate == "" && s.Belief == (Belief{}) && s.Answer == "" {
		return errors.New("live asks for nothing")
	}
	return s.Belief.valid()
}

// differs says in what the lab is not as asked; empty if it is.
func (s State) differs(now Snapshot, answer string) string {
	for _, d := range []string{s.replicas(now), s.access(now), s.settings(now), s.Belief.differs(now), s.field(now, answer)} {
		if d != "" {
			return d
		}
	}
	return ""
}

func (s State) replicas(now Snapshot) string {
	switch led := now.led(); {
	case s.Replicas != nil && (now.Replicas != *s.Replicas || !now.Settled):
		return fmt.Sprintf("%d of %d replicas are ready, %d are asked for", now.Ready, now.Replicas, *s.Replicas)
	case s.Led != nil && *s.Led && !led:
		return "no replica holds a Lease that it renewed of late"
	case s.Heartbeat != "" && s.Heartbeat != now.Heartbeat:
		return fmt.Sprintf("the heartbeat is %s, asked for is %s", now.Heartbeat, s.Heartbeat)
	case s.Led != nil && !*s.Led && led:
		return fmt.Sprintf("%s still holds the Lease and renews it", now.Lease.Holder)
	case s.Workers != nil && len(now.Working) != *s.Workers:
		return fmt.Sprintf("%d replicas log work, %d are asked for", len(now.Working), *s.Workers)
	}
	return ""
}

// led reports whether one of the pods holds the Lease and renews it.
func (s Snapshot) led() bool {
	l := s.Lease
	if l == nil || l.Holder == "" || s.At.Sub(l.RenewTime) > time.Duration(l.LeaseDurationSeconds)*time.Second {
		return false
	}
	return slices.ContainsFunc(s.Pods, func(p timeline.Pod) bool { return p.Holds(l.Holder) })
}

// unseen says why what is asked could not be looked at; empty if it could.
func (s State) unseen(now Snapshot) string {
	if len(s.May)+len(s.MayNot) > 0 {
		return now.NoVerbs
	}
	if s.asks() {
		return now.NoAnswer
	}
	return ""
}

func (s State) access(now Snapshot) string {
	for _, verb := range s.May {
		if !now.LeaseVerbs[verb] {
			return fmt.Sprintf("the operator may not %s Leases", verb)
		}
	}
	for _, verb := range s.MayNot {
		if now.LeaseVerbs[verb] {
			return fmt.Sprintf("the operator may %s Leases", verb)
		}
	}
	if s.Logged != "" && !slices.Contains(now.Logged, s.Logged) {
		return fmt.Sprintf("no replica has logged %q", s.Logged)
	}
	return ""
}

func (s State) settings(now Snapshot) string {
	switch {
	case s.Timing != "" && now.Timing.String() != s.Timing:
		return fmt.Sprintf("the timing is %s, asked for is %s", now.Timing, s.Timing)
	case s.Identity != "" && now.Identity != s.Identity:
		return fmt.Sprintf("the identity is %s, asked for is %s", now.Identity, s.Identity)
	case s.OnLoss != "" && now.OnLoss != s.OnLoss:
		return fmt.Sprintf("a replica that loses the Lease does %s, asked for is %s", now.OnLoss, s.OnLoss)
	case s.Gate != "" && now.Gate[s.Gate].IsZero():
		return fmt.Sprintf("the lab has no note of a labctl gate run --scenario %s that was as it has to be, since the exercise was begun and predicted (gate remove takes the notes away)", s.Gate)
	case s.ReleaseOnCancel != nil && now.ReleaseOnCancel != *s.ReleaseOnCancel:
		return fmt.Sprintf("ReleaseOnCancel is %t, asked for is %t", now.ReleaseOnCancel, *s.ReleaseOnCancel)
	}
	return ""
}

// field says that the answer is not what the Lease says; empty if it is, or none is asked for.
func (s State) field(now Snapshot, answer string) string {
	if s.Answer == "" {
		return ""
	}
	if now.Lease == nil {
		return "there is no Lease"
	}
	is := now.Lease.Holder
	if s.Answer == AnswerTransitions {
		is = strconv.Itoa(now.Lease.Transitions)
	}
	if strings.Trim(answer, `"'`) != is {
		return fmt.Sprintf("you wrote %q; the Lease says otherwise", answer)
	}
	return ""
}
