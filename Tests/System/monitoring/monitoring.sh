#!/usr/bin/env bash
# monitoring.sh [TEST…]
# The rules for alerts, the dashboard and the example of a configuration, with Debian's Prometheus and promtool: each alert fires for a
# planted fault, in promtool and in processes under load, and a real Prometheus scrapes a chatterd and evaluates each query. CHATTERD names the program.
set -euo pipefail
. "$(dirname "$0")/../../../script/lib.sh"

PROMETHEUS=$(unpacked prometheus)
export PROMETHEUS
[ $# -gt 0 ] || set -- monitoring.test_documents monitoring.test_scrapes monitoring.test_alerts
cd Tests/System
exec python3 -B -m unittest "$@"
