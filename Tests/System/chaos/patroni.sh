#!/usr/bin/env bash
# patroni.sh OPTIONS…
# Fetches etcd and HAProxy of Debian, and runs chatterd on a Patroni cluster with deploy/patroni (chaos/patroni.py). CHATTERD names the
# program, PATRONI_PACKAGES the folder of Python's packages with Patroni.
set -euo pipefail
. "$(dirname "$0")/../../../script/lib.sh"

program=$(realpath "${CHATTERD:?}")
etcd=$(unpacked etcd-server etcd)
haproxy=$(unpacked haproxy)
cd Tests/System
exec python3 -B -m chaos.patroni --program "$program" --etcd "$etcd" --haproxy "$haproxy" --packages "${PATRONI_PACKAGES:?}" "$@"
