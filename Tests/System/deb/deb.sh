#!/usr/bin/env bash
# script/test deb [-- [--packages DIR] [--twice]]
# Builds the packages with script/package, and uses them as strangers do, in clean roots of this Debian that debootstrap makes:
# installs the Debian package with PostgreSQL, serves, asks, upgrades, removes and purges it, and compares the files of the root with
# those of before; unpacks the archive in a root that has none of its libraries, serves, and asks. There is no systemd in the roots: the
# service runs by the command of its unit, and its start, stop and restart by the package are not tested.
#
# --packages DIR takes packages that are built already. --twice only builds, in two folders, and compares the files byte by byte.
# Ends with 77 without root, which chroot and namespaces need.
set -euo pipefail
. "$(dirname "$0")/../../../script/lib.sh"

packages='' twice=''
while [ $# -gt 0 ]; do
    case $1 in
    --packages) packages=$(realpath "${2:?"--packages needs a folder"}") && shift 2 ;;
    --twice) twice=yes && shift ;;
    *) manual >&2 && exit 2 ;;
    esac
done

die() {
    say "deb: FAILED: $*"
    exit 1
}

# demand STATEMENT COMMAND…: fails unless the command succeeds.
demand() {
    local what=$1
    shift
    "$@" || die "not so: $what"
}
no() { ! "$@"; }

build_twice() {
    local work
    work=$(mktemp -d)
    # shellcheck disable=SC2064
    trap "rm -rf '$work'" EXIT
    # Another depth, and a name that sorts differently.
    mkdir -p "$work/a folder/zz"
    git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -P -t "$work/a folder/zz"
    (cd "$work/a folder/zz" && git init -q && git add -A && git -c user.name=test -c user.email=test@example.org commit -qm 'As it is')
    SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
    export SOURCE_DATE_EPOCH
    script/package --out "$work/first"
    (cd "$work/a folder/zz" && umask 077 && script/package --out "$work/second")
    demand "both builds have the same files" diff -r "$work/first" "$work/second"
    say "two builds are equal"
}
if [ -n "$twice" ]; then build_twice && exit; fi

[ "$(id -u)" = 0 ] || { say "NOT RUN: chroot needs root" && exit 77; }
if [ -z "${DEB_NAMESPACES-}" ]; then
    unshare --mount --pid --fork true || { say "NOT RUN: there are no namespaces here" && exit 77; }
    [ -n "$packages" ] || { packages=$PWD/.build/packages && script/package --out "$packages"; }
    # Whatever happens, mounts and processes end with the namespaces.
    DEB_NAMESPACES=yes exec unshare --mount --pid --fork --kill-child --mount-proc "$self" --packages "$packages"
fi

deb=$(echo "$packages"/chatterd_*.deb) archive=$(echo "$packages"/chatterd-*.tar.gz)
(cd "$packages" && sha256sum --quiet --check SHA256SUMS)
work=$(mktemp -d)
root=$work/root bare=$work/bare
# shellcheck disable=SC2154
trap 'status=$?; [ "$status" = 0 ] || tail -n 30 "$work"/*.log >&2; umount -l "$root/proc" "$bare/proc" "$bare/run/postgresql" 2>/dev/null || true
    rm -rf --one-file-system "$work"; exit "$status"' EXIT

# The repositories of Debian that this machine uses, as lines of sources.list.
sources() {
    # shellcheck disable=SC2016
    apt-get indextargets --format 'deb $(REPO_URI) $(CODENAME) $(COMPONENT) $(ORIGIN)' 'Created-By: Packages' |
        awk -v name="$codename" '$5 == "Debian" && index($3, name) == 1 {print $1, $2, $3, $4}'
}

make_roots() {
    local codename mirror options=(--variant=minbase)
    codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
    mirror=$(sources | awk -v name="$codename" '$3 == name {print $2; exit}')
    mirror=${mirror:-http://deb.debian.org/debian}
    [[ $mirror != https:* ]] || options+=(--include=ca-certificates)
    persistently debootstrap "${options[@]}" "$codename" "$root" "$mirror" ||
        die "debootstrap failed: is there a network?"
    sources >"$root/etc/apt/sources.list"
    [ -s "$root/etc/apt/sources.list" ] || echo "deb $mirror $codename main" >"$root/etc/apt/sources.list"
    # Proxies, authorities and names of this machine count there too.
    { apt-config dump | grep '^Acquire::' && echo 'Dpkg::Use-Pty "0";'; } >"$root/etc/apt/apt.conf.d/machine"
    cp -r /etc/apt/auth.conf* "$root/etc/apt/"
    cp /etc/hosts /etc/resolv.conf "$root/etc/"
    # No package starts a service.
    printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
    chmod 755 "$root/usr/sbin/policy-rc.d"
    cp -a "$root" "$bare"
}

# inside COMMAND…: in the root of the Debian package, with little of this machine's environment.
inside() { env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive chroot "$root" "$@"; }

free_port() {
    local port
    while port=$((20000 + RANDOM % 10000)) && (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do :; done
    echo "$port"
}

wait_until_ready() {
    for _ in $(seq 240); do
        if curl -fsS -o /dev/null --max-time 5 "$url/readyz" 2>/dev/null; then return; fi
        kill -0 "$server" 2>/dev/null || die "the server has ended"
        sleep 0.5
    done
    die "not ready within two minutes at $url"
}

# ask TEXT: prints the text of the answer, whose stream must have its end.
ask() {
    local answer
    answer=$(curl -sSN --fail-with-body --max-time 240 -H "Authorization: Bearer $key" "$url/llmchat" \
        -d "{\"appID\":\"stranger\",\"model\":\"echo\",\"messages\":[{\"role\":\"user\",\"content\":\"$1\"}]}")
    grep '^data: ' <<<"$answer" | tail -n 1 | grep -q '"done":true' || die "no end in the answer: $answer"
    sed -n 's/^data: .*"content":"\([^"]*\)".*/\1/p' <<<"$answer" | tr -d '\n'
}
# asked TEXT PART: asks, and demands that part in the answer.
asked() {
    local answer
    answer=$(ask "$1")
    say "$1: $answer"
    [[ $answer == *"$2"* ]] || die "the answer has no '$2'"
}

# start COMMAND…: a server, until stop.
start() {
    "$@" >"$work/server.log" 2>&1 &
    server=$!
    wait_until_ready
}
stop() {
    # Of this namespace.
    pkill -TERM -x chatterd
    demand "the server ends with 0" wait "$server"
}

# The files of the root with their kinds, rights, owners, and, below /etc, contents; not what dpkg and apt write about all packages.
files() {
    inside find / -xdev \( -path /proc -o -path /tmp -o -path /run -o -path /var/cache -o -path /var/log -o -path /var/lib/apt \
        -o -path /var/lib/dpkg -o -path /var/lib/postgresql -o -path '/etc/*-' -o -path /etc/ld.so.cache \) -prune \
        -o -printf '%M %u:%g %p %l\n' | sort
    inside find /etc -type f ! -name '*-' ! -name ld.so.cache -exec md5sum {} + | sort
}

install_and_use() {
    local cluster listen settings=/etc/chatterd/environment next=$work/next
    say "installing PostgreSQL in a clean root"
    { inside apt-get -qq update && inside apt-get -qq install -y --no-install-recommends postgresql; } >"$work/apt.log" 2>&1
    cluster=$(ls "$root/etc/postgresql")
    inside pg_conftool "$cluster" main set listen_addresses ''
    inside pg_conftool "$cluster" main set port 5432
    files >"$work/before"

    say "installing ${deb##*/}"
    cp "$deb" "$root/tmp/"
    inside apt-get -q install -y --no-install-recommends "/tmp/${deb##*/}" 2>&1 | tee "$work/install.log"
    demand "doctor reports after the installation" grep -q '^FAIL  PostgreSQL: ' "$work/install.log"
    demand "the settings are the group's" test "$(inside stat -c '%a %U:%G' $settings)" = "640 root:chatterd"
    demand "the service is enabled" test -L "$root/etc/systemd/system/multi-user.target.wants/chatterd.service"
    demand "dpkg finds each file as it was" test -z "$(inside dpkg --verify chatterd)"

    inside pg_ctlcluster "$cluster" main start
    # The command of docs/operating.md.
    inside runuser -u postgres -- psql -q -c "CREATE ROLE chatterd LOGIN" -c "CREATE ROLE chatterd_member" \
        -c "GRANT chatterd_member TO chatterd" -c "CREATE DATABASE chatterd OWNER chatterd"
    listen=127.0.0.1:$(free_port)
    url=http://$listen
    sed -i "s/^CHATTERD_LISTEN=.*/CHATTERD_LISTEN=$listen/" "$root$settings"
    echo 'CHATTERD_ECHO="1"' >>"$root$settings"
    cp "$root$settings" "$work/settings"
    inside chatterd-service migrate
    key=$(inside chatterd-service keys create --app stranger | tail -n 1)
    inside chatterd-service doctor || true

    say "serving, as the user of the unit"
    demand "the unit runs what chatterd-service runs" grep -qx 'ExecStart=/usr/bin/chatterd serve' "$root/lib/systemd/system/chatterd.service"
    demand "the unit has the user" grep -qx User=chatterd "$root/lib/systemd/system/chatterd.service"
    start inside chatterd-service serve
    demand "the user chatterd serves" test "$(stat -c %u "/proc/$(pgrep -x chatterd)")" = "$(inside id -u chatterd)"
    asked "Remember the copper kettle." "copper kettle"
    demand "chatter asks" inside env CHATTER_URL="$url" CHATTER_KEY="$key" chatter ask -m echo 'And the tin cup.'

    say "upgrading"
    dpkg-deb -R "$deb" "$next"
    sed -i 's/^Version: .*/&.1/' "$next/DEBIAN/control"
    echo '# A new line of the new version.' >>"$next/etc/chatterd/environment"
    dpkg-deb --root-owner-group -Znone -b "$next" "$root/tmp/next.deb" >/dev/null
    inside apt-get -q install -y -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold /tmp/next.deb 2>&1 | tee "$work/upgrade.log"
    demand "changed settings survive an upgrade" cmp "$root$settings" "$work/settings"
    demand "they keep their owner and rights" test "$(inside stat -c '%a %U:%G' $settings)" = "640 root:chatterd"
    stop
    start inside chatterd-service serve
    asked "What did I say?" "copper kettle"
    stop

    say "removing"
    inside apt-get -qq remove -y chatterd >"$work/remove.log" 2>&1
    demand "a removal keeps the settings" cmp "$root$settings" "$work/settings"
    demand "a removal takes the programs" no test -e "$root/usr/bin/chatterd"
    inside apt-get -qq purge -y --autoremove chatterd >"$work/purge.log" 2>&1
    rm -f "$root"/tmp/*.deb
    files >"$work/after"
    demand "no file is left" diff "$work/before" "$work/after"
    demand "the conversation is left" test "$(inside runuser -u postgres -- psql -tA chatterd -c "SELECT count(*) FROM chatts WHERE appid = 'stranger' AND turn IS NOT NULL")" -ge 4
}

# The archive serves the database of the Debian package, in a root without a library of it.
unpack_and_use() {
    local home listen others user
    say "unpacking ${archive##*/} in a root without its libraries"
    mkdir -p "$bare/opt"
    tar -xzf "$archive" -C "$bare/opt"
    home=$(cd "$bare/opt" && echo chatterd-*)
    mkdir -p "$bare/run/postgresql"
    mount --bind "$root/run/postgresql" "$bare/run/postgresql"
    others=$(chroot "$bare" ldd "/opt/$home/bin/chatterd" "/opt/$home/bin/chatter" |
        awk -v lib="^/opt/$home/" '$2 == "=>" && $3 !~ lib && $1 !~ /^lib(c|m|dl|rt|resolv|pthread)\.so/')
    demand "the archive brings all libraries but those of glibc: $others" test -z "$others"
    demand "the root has no libpq" test -z "$(find "$bare/usr/lib" -name 'libpq*')"
    chroot "$bare" "/opt/$home/bin/chatterd" version
    listen=127.0.0.1:$(free_port)
    url=http://$listen
    user=$(stat -c %u:%g "$root/var/lib/postgresql")
    # beside VARIABLE… PROGRAM…: in the root of the archive, as the user of PostgreSQL, who may use every database.
    beside() { env -i PATH="$PATH" chroot --userspec="$user" "$bare" env "$@"; }
    start beside CHATTERD_LISTEN="$listen" CHATTERD_ECHO=1 DATABASE_URL=postgresql://postgres@/chatterd CHATTERD_ACCESS=keys \
        "/opt/$home/bin/chatterd" serve
    asked "What did I say?" "Before this, you said: What did I say?"
    demand "chatter asks" beside CHATTER_URL="$url" CHATTER_KEY="$key" "/opt/$home/bin/chatter" ask -m echo Hello
    stop
}

say "making two clean roots"
make_roots
mount -t proc proc "$root/proc"
mount -t proc proc "$bare/proc"
install_and_use
unpack_and_use
say "deb: passed"
