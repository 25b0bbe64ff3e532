"""deploy/prometheus and deploy/grafana with Debian's Prometheus: script/test monitoring."""
