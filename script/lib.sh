# shellcheck shell=bash
# Functions of the scripts. Sourced, never run: it changes to the top of the checkout.

self=$(realpath "$0")
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

say() { printf '%s\n' "$*" >&2; }
die() {
    say "${0##*/}: $*"
    exit 1
}

# Prints the comment at the top of the calling script: its manual.
manual() { sed -n '2,/^[^#]/{s/^# \{0,1\}//;t p;b;:p;p}' "$self"; }

# quietly COMMAND…: runs it and shows its output only if it fails.
quietly() {
    local log status=0
    log=$(mktemp)
    "$@" >"$log" 2>&1 || status=$?
    [ "$status" = 0 ] || cat "$log" >&2
    rm -f "$log"
    return "$status"
}

# release_build ARGUMENTS: an optimized build without checks of exclusive access (docs/decisions/0012).
release_build() { quietly swift build -c release -Xswiftc -enforce-exclusivity=unchecked "$@"; }

# debug_build ARGUMENTS: builds as script/test does, without an index for editors. A build with other options compiles everything again.
debug_build() { quietly swift build --disable-index-store "$@"; }

# persistently COMMAND…: for downloads: quietly, and up to three times.
persistently() {
    local pause
    for pause in 10 30 ''; do
        if quietly "$@"; then return; fi
        [ -n "$pause" ] || return 1
        say "that failed; next try in $pause s: $*"
        sleep "$pause"
    done
}

# unpacked PACKAGE [PROGRAM]: prints the path of a program of a Debian package, by default of the one with its name. Fetches and
# unpacks the package if the program is missing. An installed package would start a service, now and at each boot. The program's
# libraries must be installed already.
unpacked() {
    local home=$PWD/.build/debian/$1 program=${2:-$1}
    if PATH=$PATH:/usr/sbin:$home/usr/sbin:$home/usr/bin command -v "$program"; then return; fi
    say "fetching $1"
    rm -rf "$home" && mkdir -p "$home"
    # The lists of a machine may be older than the package.
    fetch() { (cd "$home" && apt-get download "$1") || { as_root apt-get -qq update && (cd "$home" && apt-get download "$1"); }; }
    persistently fetch "$1" || die "apt-get could not fetch $1: is there a network?"
    dpkg -x "$home/$1"_*.deb "$home"
    PATH=$PATH:$home/usr/sbin:$home/usr/bin command -v "$program"
}

# as_root COMMAND…: directly as root, else through sudo.
as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        die "this needs root, and there is no sudo here. As root, run: $*"
    fi
}
