package lab

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"academy.example/lab/labctl/internal/observe"
	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/replica"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

// Foreign names an operator that knows nothing of the lab, and its Lease. What needs the lab operator's logs is not seen
// of it: when its successor led and worked, and whether two worked.
type Foreign struct {
	Namespace, Deployment     string
	LeaseNamespace, LeaseName string

	timing api.Timing // LeaseDuration from the Lease, RetryPeriod as it was seen; RenewDeadline shows nowhere and is 0
	shows  bool       // it writes its work where the lab's operator does, so that two leaders are seen
}

// of returns the lab with the foreign operator in place of its own, once its Lease is seen to be renewed.
func (f Foreign) of(ctx context.Context, l *Lab) (*Lab, error) {
	own := *l
	own.Deployment.Namespace, own.Deployment.Name, own.Deployment.Foreign = f.Namespace, f.Deployment, true
	own.foreign = &f
	if _, err := own.Deployment.State(ctx); err != nil {
		return nil, err
	}
	lease, err := own.firstLease(ctx)
	if err != nil {
		return nil, err
	}
	retry, err := own.renewals(ctx)
	if err != nil {
		return nil, err
	}
	f.shows = f.showsWork(ctx, l)
	f.timing = api.Timing{LeaseDuration: time.Duration(lease.LeaseDurationSeconds) * time.Second, RetryPeriod: retry}
	l.Say(fmt.Sprintf("Lease %s/%s: LeaseDuration %s; renewed every %s, which is taken for the RetryPeriod", f.LeaseNamespace, f.LeaseName, f.timing.LeaseDuration, retry))
	return &own, nil
}

// showsWork reports whether there is a ConfigMap with the label of the lab's work in the operator's namespace. Where that may not be
// asked, there is none.
func (f Foreign) showsWork(ctx context.Context, l *Lab) bool {
	list, err := l.Client.CoreV1().ConfigMaps(f.Namespace).List(ctx, metav1.ListOptions{LabelSelector: api.LabelWork + "=true"})
	return err == nil && len(list.Items) > 0
}

// A RetryPeriod is told from so many renewals, waited for at most so long.
const (
	renewalsWanted = 5
	renewalsLimit  = 90 * time.Second
)

// renewals watches the Lease and returns the pause between two renewals of one holder.
func (l *Lab) renewals(ctx context.Context) (time.Duration, error) {
	l.Say(fmt.Sprintf("watching %d renewals of Lease %s/%s (at most %s)", renewalsWanted, l.foreign.LeaseNamespace, l.foreign.LeaseName, renewalsLimit))
	watching, stop := context.WithTimeout(ctx, renewalsLimit)
	defer stop()
	observer := observe.New(observe.Config{Client: l.watcher, LeaseNamespace: l.foreign.LeaseNamespace, Lease: l.foreign.LeaseName})
	enough := make(chan []float64, 1)
	var arrivals []float64
	holder := ""
	observer.Listen(func(e timeline.Event) {
		if e.Kind != timeline.LeaseSeen {
			return
		}
		if e.Lease.Holder != holder {
			holder, arrivals = e.Lease.Holder, nil // the first is the present state, or a takeover: no renewal
			return
		}
		if arrivals = append(arrivals, e.Seconds); len(arrivals) == renewalsWanted {
			enough <- slices.Clone(arrivals)
			stop()
		}
	})
	wait, err := observer.Start(watching)
	if err == nil {
		<-watching.Done()
	}
	stop()
	wait()
	select {
	case seen := <-enough:
		return pauseOf(seen), nil
	default:
	}
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return 0, err
	}
	return 0, &provider.Problem{Err: fmt.Errorf("Lease %s/%s was not renewed %d times within %s: nobody leads, or it is no leader's Lease",
		l.foreign.LeaseNamespace, l.foreign.LeaseName, renewalsWanted, renewalsLimit),
		Hint: fmt.Sprintf("kubectl -n %s get lease %s -o yaml", l.foreign.LeaseNamespace, l.foreign.LeaseName)}
}

// pauseOf is the median pause between arrivals, to a twentieth of a second: a renewal takes its requests' time beside it.
func pauseOf(arrivals []float64) time.Duration {
	const grain = 0.05
	var pauses []float64
	for i := 1; i < len(arrivals); i++ {
		pauses = append(pauses, arrivals[i]-arrivals[i-1])
	}
	slices.Sort(pauses)
	return time.Duration(math.Round(pauses[len(pauses)/2]/grain) * grain * float64(time.Second)).Round(time.Millisecond)
}

// state is what the API says of the operator, with what is known of a foreign one's settings.
func (l *Lab) state(ctx context.Context) (replica.State, error) {
	state, err := l.Deployment.State(ctx)
	if l.foreign != nil {
		state.Settings = replica.Settings{LeaseName: l.foreign.LeaseName, Timing: l.foreign.timing}
	}
	return state, err
}

func (l *Lab) leaseNamespace() string {
	if l.foreign != nil {
		return l.foreign.LeaseNamespace
	}
	return l.Deployment.Namespace
}
