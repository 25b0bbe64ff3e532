#!/usr/bin/env bash
# script/test proxies -- [--short] [--only nginx|haproxy|pgbouncer]
# Tests the configurations in deploy/ with Debian's packages. nginx and HAProxy run in front of three chatterd processes: events
# without delay, long silence, large bodies, clients that leave, requests that must not be repeated, and rolling restarts under
# load. PgBouncer in transaction mode runs between chatterd and PostgreSQL: migrations, query plans with 50,000 rows, the chaos
# test and the test of the queue. systemd checks the unit, if it is installed. Takes some ten minutes; --short: some three. Ends
# with 1 if a guarantee was broken. CHATTERD names the program.
set -euo pipefail
. "$(dirname "$0")/../../../script/lib.sh"

short=() only=''
while [ $# -gt 0 ]; do
    case $1 in
    --short) short=(--short) && shift ;;
    --only) only=${2:?"--only nginx, haproxy or pgbouncer"} && shift 2 ;;
    -h | --help) manual && exit 0 ;;
    *) manual >&2 && exit 2 ;;
    esac
done
case $only in '' | nginx | haproxy | pgbouncer) ;; *) manual >&2 && exit 2 ;; esac

program=$(realpath "${CHATTERD:?}")

# run SUITE OPTIONS…: a system test.
run() { (cd Tests/System && python3 -B -m "$1" --program "$program" "${@:2}"); }

# The unit has no warnings, and an exposure of 2.0 at most.
examine_unit() {
    local scratch warnings unit_status=0
    scratch=$(mktemp -d)
    sed "s|/usr/bin/chatterd|$program|" deploy/chatterd.service >"$scratch/chatterd.service"
    warnings=$(systemd-analyze verify "$scratch/chatterd.service" 2>&1) || unit_status=1
    [ -z "$warnings" ] || { say "$warnings" && unit_status=1; }
    quietly systemd-analyze security --offline=true --no-pager --threshold=20 "$scratch/chatterd.service" || unit_status=1
    rm -rf "$scratch"
    return "$unit_status"
}

status=0
if [ -z "$only" ]; then
    if command -v systemd-analyze >/dev/null; then
        say "-- systemd unit"
        examine_unit || status=1
    else
        say "-- systemd unit: not examined, there is no systemd here"
    fi
fi
for proxy in nginx haproxy; do
    [ -z "$only" ] || [ "$only" = "$proxy" ] || continue
    path=$(unpacked "$proxy")
    say "-- $proxy"
    run proxies --proxy "$proxy" --path "$path" "${short[@]}" || status=1
done
if [ -z "$only" ] || [ "$only" = pgbouncer ]; then
    pgbouncer=$(unpacked pgbouncer)
    say "-- PgBouncer: migrations and plans"
    run proxies --proxy pgbouncer --path "$pgbouncer" || status=1
    say "-- PgBouncer: chaos"
    chaos=(--short)
    [ ${#short[@]} -gt 0 ] || chaos=(--minutes 8 --cuts 2000 --failures 40)
    run chaos --pgbouncer "$pgbouncer" "${chaos[@]}" || status=1
    say "-- PgBouncer: a fair queue"
    run fairness --pgbouncer "$pgbouncer" --short || status=1
fi
if [ "$status" = 0 ]; then say "proxies: passed"; else say "proxies: FAILED"; fi
exit "$status"
