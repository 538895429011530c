package serve

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/component-base/metrics/legacyregistry"
	_ "k8s.io/component-base/metrics/prometheus/clientgo/leaderelection" // client-go's leader_election metrics

	"academy.example/lab/operator/api"
)

// metrics serves the operator's own gauges beside client-go's. The own ones are computed when asked, so neither can
// outlive the leadership it speaks of; client-go's gauge stays 1 when a leader is cancelled between two renewals.
func metrics(cfg Config) http.Handler {
	own := prometheus.NewRegistry()
	own.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: api.MetricIsLeader,
			Help: "1 while this process leads, 0 from the moment its workers are told to stop. Summed over the replicas it should be 1.",
		}, func() float64 {
			if cfg.Leading() {
				return 1
			}
			return 0
		}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: api.MetricWorkObjects,
			Help: "Work objects this leader sees; 0 in a replica that does not lead.",
		}, func() float64 { return float64(cfg.Objects()) }),
	)
	return promhttp.HandlerFor(prometheus.Gatherers{own, legacyregistry.DefaultGatherer}, promhttp.HandlerOpts{})
}
