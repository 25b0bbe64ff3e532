#!/usr/bin/env bash
# script/test package
# Builds and runs Examples/Chat as a package of its own that depends on this one by the URL of a bare repository with a version tag; by
# path it is resolved only, as SwiftPM permits there all that it permits by URL, in a folder that is not called chatterd. The build has no
# network, and an empty cache, and may print no warning. Before, it checks that the libraries use nothing that the oldest systems of
# `platforms:` do not have, that the samples of docs/swift.md compile, and that the compiler says what is wrong with a wrong call.
set -euo pipefail
. "$(dirname "$0")/../../script/lib.sh"
build=$(swift build --show-bin-path)
python3 -B Tests/Package/availability.py "$build" ||
    die "raise platforms: in Package.swift, or use something older"
python3 -B Tests/Package/samples.py "$build"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/checkout"
git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -P -t "$work/checkout" 2>/dev/null ||
    die "a file of the index is missing from the checkout"
(
    cd "$work/checkout"
    git init -q
    git add -A
    git -c user.name=test -c user.email=test@example.org commit -qm 'As it is'
    git tag 0.2.0
    git clone -q --bare . "$work/bare/chatterd.git"
)

# offline COMMAND…: with an empty home, and without a network if the system permits that.
offline() {
    local isolated=()
    if unshare -rn true 2>/dev/null; then isolated=(unshare -rn); fi
    HOME=$work/home "${isolated[@]}" "$@"
}

# example NAME DEPENDENCY: makes a copy of the example with this line in its manifest.
example() {
    rm -rf "${work:?}/home" "${work:?}/${1:?}"
    mkdir "$work/home"
    cp -r Examples/Chat "$work/$1"
    rm -rf "$work/$1/.build"
    sed -i "s|\.package(name: .*)|$2|" "$work/$1/Package.swift"
    grep -qF "$2" "$work/$1/Package.swift" || die "the manifest of the example has no dependency to replace"
}

# swiftly NAME COMMAND…: a command of SwiftPM for the copy, without a warning.
swiftly() {
    local name=$1
    shift
    offline swift "$@" --package-path "$work/$name" >"$work/log" 2>&1 || { cat "$work/log" && die "by $name: swift $* failed"; }
    if grep -i 'warning' "$work/log"; then die "by $name: swift $* has warnings"; fi
}

example path ".package(name: \"chatterd\", path: \"$work/checkout\")"
swiftly path package describe

example url ".package(url: \"file://$work/bare/chatterd.git\", from: \"0.2.0\")"
swiftly url build
if ldd "$work/url/.build/debug/ask" | grep -E 'libpq|FoundationNetworking'; then
    die "the example links a library that clients do not need"
fi
python3 -B Tests/Package/server.py "$work/url/.build/debug/ask"
