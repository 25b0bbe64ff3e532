#!/usr/bin/env bash
# upgrade.sh OPTIONS…
# Builds the release before this one, from the commit that the file previous-release names, fetches HAProxy of Debian, and upgrades under
# load and back (proxies/upgrade.py). CHATTERD names the new program, PREVIOUS one that is built already.
set -euo pipefail
. "$(dirname "$0")/../../../script/lib.sh"

program=$(realpath "${CHATTERD:?}")
haproxy=$(unpacked haproxy)
if [ -z "${PREVIOUS:-}" ]; then
    commit=$(cat Tests/System/proxies/previous-release)
    home=$PWD/.build/previous/$commit
    PREVIOUS=$home/.build/debug/chatterd
    if [ ! -e "$home/built" ]; then
        # A clone without history cannot have it: the runner names the check as not run.
        git cat-file -e "$commit^{commit}" 2>/dev/null || {
            say "NOT RUN: the commit $commit of the previous release is not in this clone: git fetch --unshallow, or name the program in PREVIOUS"
            exit 77
        }
        say "building the previous release, $(git describe --always "$commit")"
        rm -rf "$PWD/.build/previous" && mkdir -p "$home"
        git archive "$commit" | tar -x -C "$home"
        (cd "$home" && swift build --disable-index-store --product chatterd) || die "the previous release does not build"
        touch "$home/built"
    fi
fi
previous=$(realpath "$PREVIOUS")
cd Tests/System
exec python3 -B -m proxies.upgrade --program "$program" --previous "$previous" --haproxy "$haproxy" "$@"
