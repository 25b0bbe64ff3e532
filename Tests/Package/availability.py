"""availability.py BUILD: finds what the libraries use of the standard library and Foundation that the oldest systems of
`platforms:` do not have.

The compiler resolves each use (-dump-ast), and the toolchain's modules say from which macOS on a declaration exists
(symbolgraph-extract). Code for Linux only (`#if os(Linux)`, for example) and declarations with `@available` are exempt. BUILD has
the modules of a debug build.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

OLDEST = (14, 0)
# `for await` calls `next()` on systems that have no `next(isolation:)`.
CHOSEN_BY_SYSTEM = {f"{kind}.Iterator.next(isolation:)" for kind in ("AsyncStream", "AsyncThrowingStream")}
MODULES = ["Swift", "_Concurrency", "Synchronization", "_StringProcessing", "Observation", "FoundationEssentials"]
LIBRARIES = {
    "ChatterdBasics": "Sources/Kit/Basics",
    "ChatterdHTTP": "Sources/Kit/HTTP",
    "ChatterClient": "Sources/Apps/ChatterClient",
    "ChatterModels": "Sources/Apps/ChatterModels",
    "ChatterFoundationModels": "Sources/Apps/ChatterFoundationModels",
    "ChatterLanguageModelSession": "Sources/Apps/ChatterLanguageModelSession",
    "ChatterMacros": "Sources/Apps/ChatterMacros",
    "ChatterSwiftAI": "Sources/Apps/ChatterSwiftAI",
    "ChatterdMacroExpansion": "Sources/Apps/MacroExpansion",
    "ChatterdMacroPlugin": "Sources/Apps/MacroPlugin",
}
# SwiftPM's name of the package: that of its folder.
PACKAGE = "".join(letter if letter.isalnum() else "_" for letter in pathlib.Path.cwd().name.lower())
FOR_LINUX = {"#if os(Linux)", "#if canImport(Glibc)", "#else canImport(Darwin)", "#else canImport(ObjectiveC)"}
FEATURES = ["ExistentialAny", "MemberImportVisibility", "NonisolatedNonsendingByDefault"]


def new_symbols(target):
    """The declarations that are newer than OLDEST: name and version by their USR. A requirement of a protocol may be newer than the
    function of the same name that the compiler chooses for older systems."""
    found, old = {}, set()
    with tempfile.TemporaryDirectory() as folder:
        for module in MODULES:
            command = ["swift", "symbolgraph-extract", "-module-name", module, "-target", target, "-output-dir", folder]
            subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        for path in pathlib.Path(folder).glob("*.symbols.json"):
            for symbol in json.loads(path.read_bytes())["symbols"]:
                name, number = ".".join(symbol["pathComponents"]), (0, 0)
                for entry in symbol.get("availability", []):
                    if entry.get("domain") == "macOS":
                        version = entry.get("introduced", {})
                        number = max(number, (version.get("major", 0), version.get("minor", 0)))
                if number > OLDEST:
                    found[symbol["identifier"]["precise"]] = (name, number)
                else:
                    old.add(name)
    return {usr: (name, number) for usr, (name, number) in found.items() if name not in old | CHOSEN_BY_SYSTEM}


def exempt_ranges(text):
    """The byte ranges of code for Linux only."""
    ranges, open_conditions, offset = [], [], 0
    for line in text.splitlines(keepends=True):
        words = line.strip()
        if words.startswith("#if"):
            open_conditions.append((offset, words))
        elif words.startswith(("#else", "#endif")) and open_conditions:
            start, condition = open_conditions.pop()
            if condition in FOR_LINUX:
                ranges.append((start, offset))
            if words == "#else":
                open_conditions.append((offset, "#else" + condition.removeprefix("#if")))
            elif words.startswith("#elseif"):
                open_conditions.append((offset, "#if" + words.removeprefix("#elseif")))
        offset += len(line.encode())
    return ranges


def permits_newer(node):
    """Whether a declaration is marked as newer than OLDEST."""
    return any(attribute.get("_kind") == "available_attr" for attribute in node.get("attrs", []))


def uses(node, place, exempt):
    """Pairs of a USR and the byte at which it is used."""
    if isinstance(node, list):
        for element in node:
            yield from uses(element, place, exempt)
    elif isinstance(node, dict):
        if permits_newer(node):
            return
        place = node.get("range", {}).get("start", place)
        if any(start <= place < end for start, end in exempt):
            return
        for key, value in node.items():
            if isinstance(value, str) and key in ("decl_usr", "bind", "protocol", "usr"):
                yield value, place
            elif isinstance(value, (dict, list)):
                yield from uses(value, place, exempt)


def syntax_trees(module, folder, build, target):
    command = ["swiftc", "-dump-ast", "-dump-ast-format", "json", "-module-name", module, "-swift-version", "6"]
    command += ["-package-name", PACKAGE, "-target", target, "-I", f"{build}/Modules"]
    for c_module in ["CChatterdSystem", "CChatterdOpenSSL"]:
        command += ["-Xcc", f"-fmodule-map-file={build}/{c_module}.build/module.modulemap"]
    for feature in FEATURES:
        command += ["-enable-upcoming-feature", feature]
    command += ["-enable-experimental-feature", "Lifetimes"]
    command += ["-load-plugin-executable", f"{build}/ChatterdMacroPlugin-tool#ChatterdMacroPlugin"]
    command += ["-parse-as-library", *sorted(str(path) for path in pathlib.Path(folder).rglob("*.swift"))]
    # The compiler writes the trees to the standard output of a pipe.
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    text = run.stdout if run.stdout.startswith("{") else run.stderr
    decoder, index = json.JSONDecoder(), 0
    while text[index : index + 1] == "{":
        tree, index = decoder.raw_decode(text, index)
        yield tree
    if run.returncode or index == 0:
        sys.exit(f"{module} cannot be read: {text[index:][-3000:]}")


def main():
    build = sys.argv[1]
    info = json.loads(subprocess.run(["swift", "-print-target-info"], capture_output=True, check=True).stdout)
    target = info["target"]["triple"]
    symbols = new_symbols(target)
    if not any(name == "String.utf8Span" for name, _ in symbols.values()):
        sys.exit("the toolchain's modules do not say which systems have their declarations")
    found = set()
    for module, folder in LIBRARIES.items():
        for tree in syntax_trees(module, folder, build, target):
            path = tree["filename"]
            text = pathlib.Path(path).read_text()
            for usr, place in uses(tree.get("items", []), 0, exempt_ranges(text)):
                if usr in symbols:
                    name, version = symbols[usr]
                    line = text.encode()[:place].count(b"\n") + 1
                    found.add(f"{path}:{line}: {name} needs macOS {version[0]}.{version[1]}")
    for line in sorted(found):
        print(line)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    sys.setrecursionlimit(20_000)
    main()
