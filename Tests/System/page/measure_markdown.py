"""Prints how long 1 MiB of a usual answer takes in pieces of 100 characters: in all, and the longest of them.

Run it in Tests/System with the Python that `python3 ../Runner/environments.py page` prints: -B -m page.measure_markdown
"""

import statistics

from page.markdown_page import MarkdownPage

ANSWER = """## Reading a file line by line

To read a **large** file without loading it, use a *buffered* reader. The function `readLine` returns one line at a time, see
[the documentation](https://example.org/docs/reader), and `nil` at the end:

```swift
while let line = try reader.readLine() {
    guard !line.isEmpty else { continue }
    count[line, default: 0] += 1
}
```

1. Open the file, and check for errors.
2. Read lines until the end:
   - skip *empty* ones,
   - count the **others**.
3. Close the file.

| method | memory | time |
| :--- | ---: | ---: |
| all at once | 1.2 GB | 3.1 s |
| line by line | 64 KB | 3.4 s |

> The second method is a bit slower, but its memory does not depend on the size of the file.

The cost of each line is $O(n)$ in its length. That's all you need; if the file has more than one encoding, convert it first.

"""
LENGTH, PIECE, RUNS = 1 << 20, 100, 7

if __name__ == "__main__":
    markdown = MarkdownPage()
    runs = [markdown.call("workOf", ANSWER, LENGTH, PIECE) for _ in range(RUNS)]
    for name in ("total", "longest"):
        times = sorted(run[name] for run in runs)
        print(f"{name}: median {statistics.median(times):.1f} ms, {times[0]:.1f} to {times[-1]:.1f} ms")
    print(f"characters read for each that arrived: {runs[0]['steps'] / LENGTH:.2f}; nodes: {runs[0]['nodes']}")
    markdown.close()
