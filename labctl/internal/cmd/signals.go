package cmd

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// interruptible returns a context that ends with the first signal that asks for an end. A closing terminal and a supervisor
// may ask several times: the end is in order however often they do. Only who types Ctrl-C twice ends the program at once.
func interruptible(parent context.Context) (ctx context.Context, stop func()) {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup means it
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, cancel := context.WithCancel(parent)
	asked, stopped := make(chan os.Signal, 4), make(chan struct{})
	signal.Notify(asked, signals...)
	go func() {
		for {
			select {
			case s := <-asked:
				if s == os.Interrupt {
					signal.Reset(os.Interrupt)
				}
				cancel()
			case <-stopped:
				return
			}
		}
	}()
	return ctx, func() {
		signal.Stop(asked)
		close(stopped)
		cancel()
	}
}
