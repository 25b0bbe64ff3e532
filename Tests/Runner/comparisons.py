"""Finds the sources that compare texts by their characters, in the object files of a debug build.

Sources/Kit/Basics/Text/String+Bytes.swift says why that is a defect. A source file that imports ChatterdBasics compares by bytes; what it
still calls of the standard library is in the names of its object file. Not found: look-ups in a dictionary or a set of texts, raw values of
enumerations, and what generic code of other modules compares.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

# The targets whose texts come from peers. Those of the terminal and of apps read what their own user and server write.
TARGETS = """Basics Chat Cryptography Dialects HTTP HTTPClient HTTPServer Identity JSONLog Metrics ModelServers Page Postgres PostgresStore
    Relay Server Sockets Tracing""".split()

EQUAL = "$sSS2eeoiySbSS_SStFZ"  # String.==
NAMES = {
    "$sSS9hasPrefixySbSSF": "String.hasPrefix",
    "$sSS9hasSuffixySbSSF": "String.hasSuffix",
    "$sSJ2eeoiySbSJ_SJtFZ": "Character.==",
    "$sSS1loiySbSS_SStFZ": "String.<",
    "$sSSSLsWP": "a String, in sorted() and the like",
    "$sSysE2eeoiySbx_qd__tSyRd__lFZ": "StringProtocol.==",
    "$sSSSQsWP": "a String, in generic code of the standard library",
    "$sSJSQsWP": "a Character, as in split(separator:) and firstIndex(of:)",
}
# The compiler writes `==` of a type with texts, also in a file that compares nothing itself and so need not import ChatterdBasics.
COMPARISON = re.compile(r"[^=!<>][=!]= |\bcase \"|\bcase .*rawValue|\bhas(Prefix|Suffix)\(|~=")

# Files whose texts are short, or come from the operator, the database or the source.
BOUNDED = {
    "Identity/Scope": "words of the source",
    "Identity/UnsignedToken": "scopes, and at most 64 names, which have limits",
    "Postgres/Migrator": "names of migrations",
    "Postgres/Migration": "the files of Migrations/",
    "Postgres/Migration+Locks": "the files of Migrations/",
    "Postgres/SQLWords": "the files of Migrations/",
    "Relay/SlotTickets": "names of model servers",
    "Server/RequestObject": "names of members, at most 64 bytes each",
    "Identity/AppKeyGrant": "names of an app and of models, which are checked before",
    "Identity/TokenClaims": "claims, which have limits",
    "Chat/InstalledModel": "what a model server says of a model, at most 128 bytes each",
    "Chat/UpstreamDescription": "settings",
    "Postgres/PoolHealth": "sentences of our own",
    "Relay/UpstreamNames": "names of models",
    "Server/ModelsRoute": "names of models",
    "Server/Request+Body": "media types, which are tokens",
    "HTTPClient/Origin": "the URL of a model server, from the settings or the administrator",
    "HTTPServer/Router": "patterns of the source, and the first 128 bytes of a path",
    "ModelServers/EchoVariant": "the name of a model",
    "Page/PageFile": "names of the source",
    "Postgres/PostgresError": "messages of libpq",
    "PostgresStore/AccessStatements": "scopes, which are stored as words of a set",
    "PostgresStore/SessionStatements": "scopes",
    "PostgresStore/CataloguePosition": "a cursor of at most 1,274 bytes",
    "PostgresStore/ExceededLimit+Postgres": "a message of our own function",
    "PostgresStore/FeedReader": "ids that PostgreSQL joins",
    "Relay/FeedPosition": "a position of at most 64 bytes",
    "Sockets/HostAndPort": "settings",
}


def undefined_names(objects: list[Path]) -> list[tuple[Path, str]]:
    """The names that object files take from others."""
    output = subprocess.run(["nm", "--undefined-only", "--print-file-name", *objects], stdout=subprocess.PIPE, check=True, text=True).stdout
    lines = (line.rsplit(maxsplit=2) for line in output.splitlines())
    return [(Path(place.partition(".o:")[0] + ".o"), name) for place, _, name in lines]


def violations(top: Path, build: Path) -> list[str]:
    """A sentence for each source that compares by characters."""
    found = []
    unused = set(BOUNDED)
    for target in TARGETS:
        objects = sorted((build / f"Chatterd{target}.build").glob("*.swift.o"))
        sources = {path.stem: path for path in top.glob(f"Sources/*/{target}/**/*.swift")}
        if not objects:
            raise FileNotFoundError(f"{target} has no object files in {build}")
        for path, name in undefined_names(objects):
            stem = path.name.removesuffix(".swift.o")
            source = sources.get(stem)
            if source is None or name not in (EQUAL, *NAMES):  # another folder's file of an old build, or a name that compares nothing
                continue
            place = f"{target}/{stem}"
            unused -= {place}
            if name == EQUAL and "import ChatterdBasics" not in (text := source.read_text()):
                if any(COMPARISON.search(line) for line in text.splitlines() if not line.lstrip().startswith("//")):
                    found.append(f"{source.relative_to(top)} compares a String by its characters: it must import ChatterdBasics")
            elif name != EQUAL and place not in BOUNDED:
                found.append(f"{source.relative_to(top)} compares by characters: {NAMES[name]}. Use utf8, unicodeScalars or ExactText")
    return found + [f"{place} compares nothing by characters any more: remove it from BOUNDED" for place in sorted(unused)]
