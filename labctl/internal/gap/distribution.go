package gap

import (
	"math"
	"slices"
	"sort"
	"sync"

	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/timeline"
)

// Distribution is that of a lock gap: a survival function on a grid, and the atom that a replacement's one poll makes.
// Methods take and give seconds. docs/gap-model.md has the derivation.
type Distribution struct {
	from, step float64
	survival   []float64 // survival[i] is P(gap > from + i·step); the last is 0
}

// cells is how many cells of the grid a RetryPeriod has: quantiles are exact to a five-hundredth of it.
const cells = 500

// Survival is P(gap > x).
func (d *Distribution) Survival(x float64) float64 {
	at := (x - d.from) / d.step
	switch {
	case at < 0:
		return 1
	case at >= float64(len(d.survival)-1):
		return 0
	}
	i := int(at)
	return d.survival[i] + (at-float64(i))*(d.survival[i+1]-d.survival[i])
}

// CDF is P(gap ≤ x).
func (d *Distribution) CDF(x float64) float64 { return 1 - d.Survival(x) }

// Quantile is the gap that is not exceeded with probability p in (0, 1).
func (d *Distribution) Quantile(p float64) float64 {
	i := sort.Search(len(d.survival), func(i int) bool { return d.survival[i] <= 1-p })
	if i == 0 || i == len(d.survival) {
		return d.from + float64(min(i, len(d.survival)-1))*d.step
	}
	high, low := d.survival[i-1], d.survival[i]
	return d.from + (float64(i-1)+(high-(1-p))/(high-low))*d.step
}

// Mean is the expected gap.
func (d *Distribution) Mean() float64 {
	sum := 0.0
	for i := 1; i < len(d.survival); i++ {
		sum += (d.survival[i-1] + d.survival[i]) / 2
	}
	return d.from + sum*d.step
}

// Distribute returns the distribution of the lock gap for a class of failover; nil for a restart in place, which the protocol
// does not decide, and for the coordinated election, of which only bounds are derived. age fixes the age of the last renewal
// at the fault, in seconds; a negative one leaves it uniform.
func Distribute(in Input, class timeline.Class, age float64) *Distribution {
	stopped := in.Stopped(class)
	in.StopSeconds = 0
	d := distribute(in, class, age)
	if d == nil || stopped == 0 {
		return d
	}
	later := *d
	later.from -= stopped
	return &later
}

func distribute(in Input, class timeline.Class, age float64) *Distribution {
	key := distributionKey{in, class, age}
	if known, ok := distributions.Load(key); ok {
		return known.(*Distribution)
	}
	var d *Distribution
	switch {
	case in.Coordinated:
		return nil
	case in.kind() == fault.OfServer:
		in.ReplacementStart = 0
		in.Standbys = max(1, in.Standbys)
		d = releasedGap(in) // at most: the holder's own next process polls as well
	case class == timeline.SameIdentity:
		return nil
	case class == timeline.Released:
		d = releasedGap(in)
	case class == timeline.Deleted:
		in.ReplacementStart = 0
		in.Standbys = max(1, in.Standbys)
		d = releasedGap(in)
		if in.Remakes {
			d.before(in.Timing.RetryPeriod.Seconds())
		}
	case class == timeline.Stolen:
		in.Standbys = max(1, in.Standbys)
		d = expiredGap(in, 0) // the thief's only write is the last renewal
	default:
		d = expiredGap(in, age)
	}
	distributions.Store(key, d)
	return d
}

type distributionKey struct {
	in    Input
	class timeline.Class
	age   float64
}

// distributions are those that were computed: a run asks for the same ones again and again.
var distributions sync.Map

// releasedGap: the Lease is free at once, and the first poll takes it.
func releasedGap(in Input) *Distribution {
	retry := in.Timing.RetryPeriod.Seconds()
	end := LongestPause * retry
	if in.Standbys < 1 {
		end = in.ReplacementStart
	}
	step := retry / cells
	d := &Distribution{step: step, survival: make([]float64, int(math.Ceil(end/step))+1)}
	for i := range d.survival {
		x := float64(i) * step
		s := math.Pow(residualSurvival(x/retry), float64(in.Standbys))
		if in.ReplacementStart > 0 && x >= in.ReplacementStart {
			s = 0
		}
		d.survival[i] = s
	}
	d.survival[len(d.survival)-1] = 0
	return d
}

// before makes it the distribution of what comes first: this, or something at a uniform moment until end.
func (d *Distribution) before(end float64) {
	for i := range d.survival {
		d.survival[i] *= max(0, 1-(d.from+float64(i)*d.step)/end)
	}
}

// residualSurvival is P(time to a standby's next poll > x) at a random moment; x in RetryPeriods. The pauses g are uniform
// in [1, 2.2], and the density of the residual is P(g > x)/E[g].
func residualSurvival(x float64) float64 {
	const mean = 1 + jitter/2
	switch {
	case x <= 0:
		return 1
	case x <= 1:
		return 1 - x/mean
	case x < LongestPause:
		return (LongestPause - x) * (LongestPause - x) / (2 * jitter * mean)
	default:
		return 0
	}
}

// expiredGap: each candidate must have seen the record unchanged for LeaseDuration, and takes it at its first poll after
// that. With A the age of the last renewal, o the wait until a standby first sees it and V the wait from the end of its
// LeaseDuration to its next poll, a standby takes it A earlier than o + LeaseDuration + V after the fault; a replacement,
// whose first poll is s after the fault, at s + LeaseDuration + V.
func expiredGap(in Input, age float64) *Distribution {
	lease, retry := in.Timing.LeaseDuration.Seconds(), in.Timing.RetryPeriod.Seconds()
	overshoot := overshootSurvival(lease / retry)
	standby := convolve(residualMasses(), overshoot)
	step := retry / cells
	p := Range(in, timeline.Expired)
	d := &Distribution{from: p.MinSeconds, step: step, survival: make([]float64, int(math.Ceil((p.MaxSeconds-p.MinSeconds)/step))+1)}
	ages := []float64{age}
	if age < 0 {
		ages = ages[:0]
		for i := range cells / 5 {
			ages = append(ages, (float64(i)+0.5)*5*step)
		}
	}
	for i := range d.survival {
		x := d.from + float64(i)*step - lease - in.renewsOnce()
		late := 1.0
		if in.ReplacementStart > 0 {
			late = at(overshoot, (x-in.ReplacementStart)/step)
		}
		sum := 0.0
		for _, a := range ages {
			sum += math.Pow(at(standby, (x+a)/step), float64(in.Standbys))
		}
		d.survival[i] = late * sum / float64(len(ages))
	}
	d.survival[len(d.survival)-1] = 0
	return d
}

// at reads a survival function on the grid between its points.
func at(survival []float64, i float64) float64 {
	switch {
	case i <= 0:
		return 1
	case i >= float64(len(survival)-1):
		return 0
	}
	j := int(i)
	return survival[j] + (i-float64(j))*(survival[j+1]-survival[j])
}

// residualMasses is how probable it is that a standby's next poll falls in each cell of the grid.
func residualMasses() []float64 {
	masses := make([]float64, int(math.Round(LongestPause*cells)))
	for i := range masses {
		masses[i] = residualSurvival(float64(i)/cells) - residualSurvival(float64(i+1)/cells)
	}
	return masses
}

// convolve returns the survival function of a sum: of a part given by the masses of its cells, taken at their middles, and
// one given by its survival function.
func convolve(masses, survival []float64) []float64 {
	out := make([]float64, len(masses)+len(survival))
	for i := range out {
		for j, mass := range masses {
			if mass > 0 {
				out[i] += mass * at(survival, float64(i-j)-0.5)
			}
		}
	}
	out[len(out)-1] = 0
	return out
}

// forgotten is after how many RetryPeriods it does not matter any more when a poll was at the start: the density of polls has
// long been constant.
const forgotten = 100

// overshootSurvival is P(V > v) for the wait V from a moment to the next poll, when a poll was exactly span before that
// moment; span in RetryPeriods. The polls in between follow the renewal equation: the density of a poll at t is that of one
// pause, and of a pause after an earlier poll.
func overshootSurvival(span float64) []float64 {
	span = min(span, forgotten)
	const first, last = cells, int(LongestPause * cells) // a pause takes between so many cells
	n := int(math.Round(span * cells))
	pause := 1 / float64(last-first) // the probability that a pause ends in any one of its cells
	polls := make([]float64, n+1)    // the probability of a poll in each cell
	running := make([]float64, n+2)  // and the sums of it
	for i := 1; i <= n; i++ {
		low, high := max(0, i-last), i-first
		if high >= 0 {
			polls[i] = pause * (running[high+1] - running[low])
			if i <= last && i > first {
				polls[i] += pause // the first pause began at 0
			}
		}
		running[i+1] = running[i] + polls[i]
	}
	polls[0] = 1
	out := make([]float64, last+1)
	for v := range out {
		for i := max(0, n+v-last); i <= n; i++ {
			out[v] += polls[i] * pauseSurvival(float64(n+v-i)/cells)
		}
	}
	normal := out[0]
	for v := range out {
		out[v] /= normal
	}
	out[last] = 0
	return out
}

// pauseSurvival is P(pause > x), x in RetryPeriods.
func pauseSurvival(x float64) float64 {
	return min(1, max(0, (LongestPause-x)/jitter))
}

// Rank returns where a standby's gap lies in the standbys' distribution, as a number in [0, 1] that is uniform if the model
// holds. Of a gap that another candidate ended sooner, only that the standbys' would have been longer is known: it ranks
// somewhere above, where draw, in [0, 1), says.
func (d *Distribution) Rank(gap float64, endedByOther bool, draw float64) float64 {
	rank := d.CDF(gap)
	if endedByOther {
		rank += draw * (1 - rank)
	}
	return rank
}

// Kolmogorov returns how far the values, which should be uniform in [0, 1], are from it at most, and how probable it is that
// n such values are at least that far (Stephens' approximation, good from n = 10 on).
func Kolmogorov(values []float64) (distance, p float64) {
	sorted := slices.Sorted(slices.Values(values))
	n := float64(len(sorted))
	for i, v := range sorted {
		distance = max(distance, v-float64(i)/n, float64(i+1)/n-v)
	}
	lambda := (math.Sqrt(n) + 0.12 + 0.11/math.Sqrt(n)) * distance
	for k := 1; k <= 100; k++ {
		term := 2 * math.Exp(-2*float64(k*k)*lambda*lambda)
		if k%2 == 0 {
			term = -term
		}
		p += term
	}
	if lambda < 0.2 {
		p = 1
	}
	return distance, min(1, max(0, p))
}
