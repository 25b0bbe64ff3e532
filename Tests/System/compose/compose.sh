#!/usr/bin/env bash
# script/test compose
# Tests docker-compose.yml with real containers, in a copy of the checkout, under its own project name and port. Checks the
# settings of each service, builds the image, checks the rights of the containers, holds a conversation through the published
# port, takes the stack down and up again, and finds the conversation. Removes everything that it created.
# Ends with 77 if there is no way to run containers here. COMPOSE_LAB names a script that prepares podman.
set -euo pipefail
. "$(dirname "$0")/../../../script/lib.sh"

# stand_in NAME: tags an image of the lab with the name that the files of the checkout use.
stand_in() {
    local repository=docker.io/library/${1%%:*}
    podman image exists "docker.io/library/$1" ||
        podman tag "$(podman images --format '{{.Repository}}:{{.Tag}}' --filter "reference=$repository" | head -n 1)" \
            "docker.io/library/$1"
}

# The lab's PostgreSQL, with an entrypoint that knows those variables of the official image that the compose file needs.
build_postgres() {
    local home
    podman image exists "docker.io/library/$1" && return
    home=$(mktemp -d)
    cat >"$home/docker-entrypoint.sh" <<'SCRIPT'
#!/bin/sh
set -e
export PGDATA=/var/lib/postgresql/data
if [ ! -s "$PGDATA/PG_VERSION" ]; then
    [ "$POSTGRES_HOST_AUTH_METHOD" = trust ] || { echo "a password is missing" >&2; exit 1; }
    initdb -U "$POSTGRES_USER" -A trust -E UTF8
    pg_ctl -w -o "-c listen_addresses=" start
    createdb -h /var/run/postgresql -U "$POSTGRES_USER" "$POSTGRES_DB"
    pg_ctl -w stop
fi
exec "$@"
SCRIPT
    cat >"$home/Dockerfile" <<'DOCKERFILE'
FROM docker.io/library/postgres:17-bookworm
COPY --chmod=755 docker-entrypoint.sh /usr/local/bin/
RUN install -d -o postgres -m 1777 /var/lib/postgresql/data && install -d -o postgres -m 3777 /var/run/postgresql
ENTRYPOINT ["docker-entrypoint.sh"]
CMD ["postgres"]
DOCKERFILE
    quietly podman build --isolation=chroot -t "docker.io/library/$1" "$home" || die "the lab's PostgreSQL cannot be built"
    rm -rf "$home"
}

prepare_lab() {
    local image
    while read -r image; do stand_in "$image"; done < <(sed -n 's/^FROM \([^ ]*\).*/\1/p' Dockerfile)
    build_postgres "$(sed -n 's/^ *image: \(postgres:.*\)/\1/p' docker-compose.yml)"
}

# Debian's podman-compose is too old: it supports neither profiles nor an optional env_file.
install_podman_compose() {
    local python
    python=$(python3 -B Tests/Runner/environments.py compose) || die "podman-compose cannot be installed"
    PATH=${python%/*}:$PATH
}

lab=${COMPOSE_LAB:-../shared/lab/podman-lab.sh}
if docker compose version >/dev/null 2>&1 && docker info >/dev/null 2>&1; then
    engine=docker compose=(docker compose)
elif [ -x "$lab" ] && [ "$(id -u)" = 0 ]; then
    say "preparing podman: minutes the first time"
    quietly "$lab" || { say "NOT RUN: $lab failed" && exit 77; }
    # Its podman calls iptables, and runs where a build cannot have separate namespaces.
    command -v iptables >/dev/null || persistently as_root apt-get install -y --no-install-recommends iptables
    export BUILDAH_ISOLATION=chroot
    prepare_lab
    install_podman_compose
    engine=podman compose=(podman-compose)
elif podman info >/dev/null 2>&1; then
    install_podman_compose
    engine=podman compose=(podman-compose)
else
    say "NOT RUN: no Docker engine and no podman answers" && exit 77
fi

free_port() {
    local port
    while port=$((20000 + RANDOM % 10000)) && (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do :; done
    echo "$port"
}
CHATTERD_PORT=$(free_port)
# Processes of two containers may have the same number and the same engine.
project=chatterdtest$$x$RANDOM
export CHATTERD_PORT COMPOSE_PROJECT_NAME=$project
compose+=(-p "$project")
url=http://127.0.0.1:$CHATTERD_PORT
# The test works in a copy, so that a chatterd.env of the checkout has no effect and is not lost.
copy=$(mktemp -d)
git ls-files -co --exclude-standard -z | tar -c --null -T - | tar -x -C "$copy"
cd "$copy"
echo 'CHATTERD_DEFAULT_MODEL=echo' >chatterd.env
# Old podman does not know host-gateway: the address of its own network's gateway replaces it.
[ "$engine" = docker ] || podman run --help | grep -q host-gateway || sed -i 's/:host-gateway/:10.88.0.1/' docker-compose.yml

cleanup() {
    local status=$?
    if [ "$status" != 0 ]; then
        say "-- logs"
        { "${compose[@]}" logs postgres chatterd 2>&1 || true; } | tail -n 60 >&2
    fi
    say "removing the stack"
    quietly "${compose[@]}" down -v || true
    cd / && rm -rf "$copy"
    for image in "${project}_chatterd" "$project-chatterd"; do "$engine" rmi -f "$image" >/dev/null 2>&1 || true; done
    if [ "$status" = 0 ]; then say "compose: passed"; else say "compose: FAILED"; fi
    exit "$status"
}
trap cleanup EXIT

up() {
    # The first run fetches an image.
    persistently "${compose[@]}" up -d postgres chatterd || die "the stack does not come up"
    for _ in $(seq 240); do
        if curl -fsS -o /dev/null --max-time 5 "$url/readyz" 2>/dev/null; then return; fi
        sleep 1
    done
    die "not ready within four minutes at $url"
}

# ask TEXT: prints the stream of the answer, which must end with a last line.
ask() {
    local answer
    # chatterd.env sets the default model.
    answer=$(curl -sSN --fail-with-body --max-time 240 "$url/llmchat" \
        -d "{\"appID\":\"compose\",\"messages\":[{\"role\":\"user\",\"content\":\"$1\"}]}")
    grep '^data: ' <<<"$answer" | tail -n 1 | grep -q '"done":true' || die "no end in the answer: $answer"
    ! grep -q '^event: error' <<<"$answer" || die "an error in the answer: $answer"
    printf '%s\n' "$answer"
}

# The text of a stream: the contents of its lines, joined.
text() { sed -n 's/^data: .*"content":"\([^"]*\)".*/\1/p' | tr -d '\n'; }

# demand STATEMENT COMMAND…: fails unless the command succeeds.
demand() {
    local what=$1
    shift
    "$@" || die "not so: $what"
}
no() { ! "$@"; }

# The file as the engine reads it, with variables and anchors replaced, and with the services of all profiles.
merged=$("${compose[@]}" --profile ollama config 2>"$copy/config.log") || die "$(cat "$copy/config.log")"
services() { awk '/^[^ ]/ {top = $1} top == "services:" && /^  [^ ]/ {sub(/:$/, "", $1); print $1}' <<<"$merged"; }
# about_service SERVICE: prints its lines without indentation, each element of a list behind the name of the list.
about_service() {
    awk -v name="$1:" '
        /^[^ ]/ {top = $1}
        /^  [^ ]/ {service = $1}
        top != "services:" || service != name || !/^   / {next}
        {sub(/^ +/, "")}
        /^- / {print list, $0; next}
        {list = $1; print}' <<<"$merged"
}
# says SERVICE LINE: whether one of the lines of the service matches LINE, an extended regular expression.
says() { grep -qxE "$2" <<<"$(about_service "$1")"; }
# images SERVICE: the images that the service is built from or runs.
images() {
    about_service "$1" | sed -n 's/^image: //p'
    if says "$1" 'build:.*'; then sed -n 's/^FROM \([^ ]*\).*/\1/p' Dockerfile; fi
}
# An exact tag has a number with a dot; latest, and tags that move with each release, have none.
has_exact_tags() { [ -n "$(images "$1")" ] && ! grep -qvE '^[^ ]+:[0-9]+\.[0-9][^ /]*$' <<<"$(images "$1")"; }

say "settings of the compose file"
for service in $(services); do
    demand "the images of $service have exact tags" has_exact_tags "$service"
    demand "the log of $service is limited" says "$service" 'max-size: .+'
    demand "the file limits the memory of $service" says "$service" 'mem_limit: .+'
    demand "the file drops all capabilities of $service" says "$service" 'cap_drop: - ALL'
    demand "the file lets $service gain no privileges" says "$service" 'security_opt: - no-new-privileges:true'
done
demand "the file has three services" test "$(services | sort | tr '\n' ' ')" = "chatterd ollama postgres "
demand "chatterd knows this machine as host.docker.internal" says chatterd 'extra_hosts: - host\.docker\.internal[:=].+'

say "building the image with $engine"
persistently "${compose[@]}" build || die "the image cannot be built"
say "starting the stack as $project at $url"
up
# Examined from outside: some engines cannot run a command in a container without capabilities.
container() { "$engine" ps --format '{{.Names}}' | grep -x "${project}[-_]${1}[-_]1"; }
about() { "$engine" inspect --format "$2" "$(container "$1")"; }
status_of() { awk -v name="$2:" '$1 == name {print $2}' "/proc/$(about "$1" '{{.State.Pid}}')/status"; }
ready() { curl -fsS -o /dev/null --max-time 5 "$url/readyz" 2>/dev/null; }
listens_on_loopback() { ss -Hltn "sport = :$CHATTERD_PORT" | awk '$4 !~ /^127[.]/ {wrong = 1} END {exit wrong || !NR}'; }

say "rights of the containers"
for service in chatterd postgres; do
    demand "$service does not run as root" test "$(status_of "$service" Uid)" != 0
    demand "$service has no capabilities" test "$(status_of "$service" CapBnd)" = 0000000000000000
    demand "$service gains no privileges" test "$(status_of "$service" NoNewPrivs)" = 1
    demand "$service has a read-only file system" test "$(about "$service" '{{.HostConfig.ReadonlyRootfs}}')" = true
    demand "the memory of $service is limited" test "$(about "$service" '{{.HostConfig.Memory}}')" -gt 0
done
demand "PostgreSQL is on no network" test "$(about postgres '{{.HostConfig.NetworkMode}}')" = none
demand "the port is published on the loopback alone" listens_on_loopback
say "a prompt: $(ask 'Remember the copper kettle.' | text)"

say "taking the stack down and up again, with HTTPS"
quietly "${compose[@]}" down
script/certificate localhost 127.0.0.1
CHATTERD_TLS_PORT=$(free_port) CHATTERD_USER=$(($(id -u) == 0 ? 10001 : $(id -u)))
export CHATTERD_TLS_PORT CHATTERD_USER
as_root chown "$CHATTERD_USER" chatterd.key
compose+=(-f docker-compose.yml -f deploy/compose.tls.yml)
up
demand "the owner of the key runs chatterd" test "$(status_of chatterd Uid)" = "$CHATTERD_USER"
demand "HTTPS is served" curl -fsS -o /dev/null --max-time 20 --cacert chatterd.crt "https://127.0.0.1:$CHATTERD_TLS_PORT/readyz"
answer=$(ask 'What did I say?' | text)
say "after the restart: $answer"
[[ $answer == *"copper kettle"* ]] || die "the conversation is lost"

say "stopping PostgreSQL"
quietly "${compose[@]}" stop postgres
demand "chatterd is not ready without its database" no ready
quietly "${compose[@]}" start postgres
up_again() { for _ in $(seq 120); do if ready; then return; fi; sleep 1; done; return 1; }
demand "chatterd is ready again" up_again
