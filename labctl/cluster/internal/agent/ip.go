package agent

import (
	"fmt"
	"hash/fnv"
	"net"
	"runtime"
	"strconv"
	"sync"
)

// ipPool gives each pod an address of 127.1.0.0/16, so that all can listen on the same port.
// Only Linux answers on all of 127.0.0.0/8 without set-up; elsewhere every pod has 127.0.0.1.
type ipPool struct {
	mu   sync.Mutex
	next int
	used map[string]bool
}

const (
	poolSize = 1 << 16
	// tries bounds the search for an address whose ports are free: a listener on all addresses blocks every one.
	tries = 16
)

// newIPPool begins at a place that depends on seed: two clusters on one machine then rarely meet.
func newIPPool(seed string) *ipPool {
	h := fnv.New32a()
	_, _ = h.Write([]byte(seed)) // never fails
	return &ipPool{next: int(h.Sum32()%(poolSize/256)) * 256, used: map[string]bool{}}
}

// take returns wanted if it is free, else the next free address on which the given TCP ports can be bound.
func (p *ipPool) take(wanted string, ports []int) string {
	if runtime.GOOS != "linux" {
		return hostIP
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if poolIP(wanted) && !p.used[wanted] && bindable(wanted, ports) {
		p.used[wanted] = true
		return wanted
	}
	ip := ""
	for range tries {
		ip = p.advance()
		if bindable(ip, ports) {
			break
		}
	}
	p.used[ip] = true
	return ip
}

// advance finds the next unused address; a pod's address comes back only after all others.
func (p *ipPool) advance() string {
	for {
		p.next = (p.next + 1) % poolSize
		low := p.next % 256
		ip := fmt.Sprintf("127.1.%d.%d", p.next/256, low)
		if low != 0 && low != 255 && !p.used[ip] {
			return ip
		}
	}
}

func (p *ipPool) release(ip string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.used, ip)
}

func poolIP(s string) bool {
	ip := net.ParseIP(s).To4()
	return ip != nil && ip[0] == 127 && ip[1] == 1
}

func bindable(ip string, ports []int) bool {
	for _, port := range ports {
		listener, err := net.Listen("tcp4", net.JoinHostPort(ip, strconv.Itoa(port)))
		if err != nil {
			return false
		}
		_ = listener.Close() // only tried
	}
	return true
}
