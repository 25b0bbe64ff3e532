"""samples.py BUILD: compiles the samples of docs/swift.md against the libraries, and wrong calls, of which the compiler must say what is
wrong with each.

Of several forms of a function that fit a wrong call equally well the compiler names no reason ("failed to produce diagnostic"), and a
reader of docs/swift.md does not find it either. BUILD has the modules of a debug build.
"""

import itertools
import pathlib
import re
import subprocess
import sys
import tempfile

# Samples that do not compile here: a manifest, and what needs SwiftUI. The example of script/test package has both.
ELSEWHERE = ("// Package.swift", "import SwiftUI", "struct TripApp")
# What the samples leave to the reader, by the function or type that they name.
STUBS = {
    "Binding<": "struct Binding<Value> { var wrappedValue: Value { get { fatalError() } nonmutating set {} } }",
    "client: client": 'let client = try ChatterClient(url: "http://127.0.0.1:8080", credential: .app("me"))',
    "key: key": 'let key = "key"',
    "llm.": "let llm: any LLM = EchoLLM()",
    "session.events": "let session = EchoLLM().makeSession()",
    "text +=": 'var text = ""',
    "show(": "func show<Value>(_ value: Value) {}",
    "save(": "func save(_ bytes: Data) {}",
    "from: saved": "let saved = Data()",
    "WeatherTool()": """struct WeatherTool: Tool {
    let description = "The weather of a city"
    @Generable struct Arguments { let city: String }
    func call(arguments: Arguments) async throws -> String { "sun" }
}""",
    "weather(in:": 'func weather(in city: String) async throws -> String { "sun" }',
}
IMPORTS = ["ChatterClient", "ChatterMacros", "ChatterModels", "Foundation"]

WRONG = {
    "to": ['"Hello"', "messages", '[.user("Hello")]', "5", "NotGenerable()"],
    "returning": ["Int.self", "NotGenerable.self", "Int"],
    "tools": ["tools", "options"],
    "options": ["options", "tools"],
    "in": ["session", "messages"],
}
RIGHT_PROMPTS = WRONG["to"][:3]


def compile_swift(build, source):
    """What the compiler says of a program."""
    command = ["swiftc", "-typecheck", "-swift-version", "6", "-I", f"{build}/Modules"]
    for c_module in ["CChatterdSystem", "CChatterdOpenSSL"]:
        command += ["-Xcc", f"-fmodule-map-file={build}/{c_module}.build/module.modulemap"]
    command += ["-load-plugin-executable", f"{build}/ChatterdMacroPlugin-tool#ChatterdMacroPlugin"]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "main.swift"
        path.write_text(source, encoding="utf-8")
        run = subprocess.run([*command, str(path)], capture_output=True, text=True, check=False)
        return run.returncode, run.stderr.replace(str(path), "sample")


def check_documentation(build):
    """The number of samples of docs/swift.md that compile."""
    samples = re.findall(r"^```swift\n(.*?)^```", pathlib.Path("docs/swift.md").read_text(encoding="utf-8"), re.M | re.S)
    samples = [sample for sample in samples if not any(mark in sample for mark in ELSEWHERE)]
    for sample in samples:
        sample = sample.replace("…", "")
        imported = re.findall(r"^import (\w+)", sample, re.M)
        stubs = [stub for word, stub in STUBS.items() if word in sample and stub.partition(" =")[0] not in sample]
        lines = [f"import {module}" for module in IMPORTS if module not in imported]
        # An import of a sample stands where the sample has it; what the sample leaves open comes first.
        status, text = compile_swift(build, "\n".join([*lines, *stubs, sample]))
        if status:
            sys.exit(f"a sample of docs/swift.md does not compile:\n\n{sample}\n{text}")
    return len(samples)


def calls():
    """Calls with every order of arguments, with right ones and with one that is wrong."""
    for receiver, forms in [("llm", list(WRONG)), ("session", ["to", "returning", "options"])]:
        for name in ["reply", "replyStream"]:
            for count in range(1, 5):
                for labels in itertools.permutations(forms, count):
                    for prompt in RIGHT_PROMPTS if "to" in labels else []:
                        right = {label: prompt if label == "to" else WRONG[label][0] for label in labels}
                        wrong = [{**right, label: value} for label in labels for value in WRONG[label][1:]]
                        for arguments in [right] + (wrong if count < 4 else []):
                            listed = ", ".join(f"{label}: {value}" for label, value in arguments.items())
                            yield f"{'try await ' if name == 'reply' else ''}{receiver}.{name}({listed})"


def check_wrong_calls(build):
    """The number of calls of which the compiler says what is wrong, or that are right."""
    listed = sorted(set(calls()))
    source = "import ChatterModels\nstruct NotGenerable: Sendable {}\n"
    parameters = "llm: any LLM, session: Session, messages: [Message], tools: [any Tool], options: LLMReplyOptions"
    source += "\n".join(
        f"func call{number}({parameters}) async throws {{ let answer = {call}; _ = answer }}"
        for number, call in enumerate(listed)
    )
    _, text = compile_swift(build, source)
    reasons = dict(re.findall(r"^sample:(\d+):\d+: error: (.*)", text, re.M))
    if len(reasons) == len(listed) or not reasons:
        sys.exit(f"the calls cannot be compiled: {text[-3000:]}")
    lost = [listed[int(line) - 3] for line, reason in reasons.items() if "failed to produce" in reason]
    if lost:
        sys.exit(f"the compiler gives no reason for {len(lost)} calls, such as {lost[0]}")
    return len(listed)


def main():
    build = sys.argv[1]
    print(f"{check_documentation(build)} samples of docs/swift.md compile; {check_wrong_calls(build)} calls have a reason or are right")


if __name__ == "__main__":
    main()
