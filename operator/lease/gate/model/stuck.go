package model

// stuck returns the first state from which no way leads to the end of all operations; -1 if there is none. Nothing that can always be
// done is put off for ever, so from each of the others the end comes.
func (c *search) stuck() int32 {
	first := make([]int32, len(c.nodes)+1) // of each state, where the steps into it begin
	for _, s := range c.steps {
		first[s.to+1]++
	}
	for i := range c.nodes {
		first[i+1] += first[i]
	}
	into, filled := make([]int32, len(c.steps)), make([]int32, len(c.nodes))
	for _, s := range c.steps {
		into[first[s.to]+filled[s.to]] = s.from
		filled[s.to]++
	}
	ends := make([]bool, len(c.nodes))
	todo := append([]int32(nil), c.ends...)
	for _, at := range todo {
		ends[at] = true
	}
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, from := range into[first[at]:first[at+1]] {
			if !ends[from] {
				ends[from] = true
				todo = append(todo, from)
			}
		}
	}
	for at, does := range ends {
		if !does {
			return int32(at)
		}
	}
	return -1
}
