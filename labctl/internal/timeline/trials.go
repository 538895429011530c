package timeline

import "slices"

// Trials measures each trial that ended, in order of number, from the events of its own lane.
func Trials(events []Event) []Trial {
	byNumber := map[int]Trial{}
	var numbers []int
	for _, lane := range Lanes(events) {
		own := Lane(events, lane)
		for i, e := range own {
			if _, done := byNumber[e.Trial]; e.Kind == TrialEnded && !done {
				byNumber[e.Trial] = Measure(Cut(own[:i+1], e.Trial), e.Trial)
				numbers = append(numbers, e.Trial)
			}
		}
	}
	slices.Sort(numbers)
	var trials []Trial
	for _, n := range numbers {
		trials = append(trials, byNumber[n])
	}
	return trials
}

// Cut returns the events of a lane that its trial is measured from: those since the trial before it ended, which include
// its settling. They are none if the trial was not begun.
func Cut(lane []Event, trial int) []Event {
	fault := len(lane) - 1
	for fault >= 0 && (lane[fault].Kind != FaultIssued || lane[fault].Trial != trial) {
		fault--
	}
	if fault < 0 {
		return nil
	}
	from := fault
	for from > 0 && lane[from-1].Kind != TrialEnded {
		from--
	}
	return lane[from:]
}

// Lanes returns the numbers of the lanes on which trials were begun, sorted; a run without lanes has lane 0 alone.
func Lanes(events []Event) []int {
	var lanes []int
	for _, e := range events {
		if e.Kind == FaultIssued && !slices.Contains(lanes, e.Lane) {
			lanes = append(lanes, e.Lane)
		}
	}
	slices.Sort(lanes)
	return lanes
}
