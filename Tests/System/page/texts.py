"""Random Markdown texts, and where to cut them. The same seed makes the same texts."""

import random

FRAGMENTS = """*|**|***|_|__|~~|~|`|``|```|````|~~~|[|]|](|](http://a.b/c)|](<x y>)|![|(|)|<|>|<http://x.y>|<a@b.c>|http://a.b/c_d|https://x|www.a.b
 "t")| 'u')|#|##|# |###### |####### |- |* |+ |1. |2) |10. |12345678. |> |>|---|***|___|===|=|--|- - -|\\|\\*|\\\\|\\n|&amp;|&#65;|&#x1F600;|&lt|&
|||a | b|--- | ---|:-: | -:|||-|-|||[ ] |[x] |[x]| |  |   |    |     |\t|\t\t| \t|  \t|\r|\r\n|word|two words|a|1|x y z|foo_bar|snake_case_name
**bold**|*em* |_em_|`code`|~~gone~~|[text](http://a.b)|![alt](http://a.b/c.png)|![x](data:image/png;base64,AA)|[a](javascript:b)|[[|]]|<b>|</b>
$|$$|$$$|\\(|\\)|\\[|\\]|$a_b$|\\(a_b\\)|$$a\\\\b$$
<script>|$x^2$|😀|😀😀|👩‍👩‍👧|漢字かな|漢|ä|é|\u00A0|\u2003|\0|£|“quoted”|...|!|?|,|.|;|:|'|"|{|}|^|%|@|/|//|http|http:|http:/|ww|www|```js|```` md|~~~ x
""".replace("\n", "|").split("|") + ["|", "| a | b |", "|---|:-:|", "| --- | --- |", "a | b", "--- | ---", "\\|", "| x", "[ ](", "[x] done", "](u 't')"]

# The pieces that a text of 1 MiB repeats: usual ones, and those that are expensive for careless readers.
SHAPES = {
    "words": "some plain words in a long line ", "letters": "a", "ideographs": "漢字", "emphasis": "**b** and *em* `code` [a](http://b.c) ",
    "openers": "*a ", "openers and closers of two kinds": "*a_ ", "openers that are closers": "*a*_", "deleted": "~~a", "mixed": "*_~`[<&\\!",
    "brackets": "[a", "images": "![a](data:x", "links that do not end": "[a](", "titles that do not end": '[a](b "c ', "fences": "`a",
    "runs of backticks": "`a``b```c````d", "angle brackets": "<a:b", "entities": "&a", "addresses": "http://a.b ", "www": "www.a[",
    "quotes": "> > > a\n", "nested lists": "- ", "nested lists and blank lines": "- " * 16 + "a\n" + "\n" * 5000, "items": "1. a\n",
    "blank lines": "\n", "spaces": " ", "spaces at ends": "a" + " " * 3000 + "\n", "underlined": "a\n=\n", "headings": "# a\n",
    "code": "```\ncode\n", "indented code": "    code\n\n", "table": "| a | b |\n|---|---|\n" + "| x | y |\n" * 50,
    "wide table": "|a" * 60 + "\n" + "|-" * 60 + "\n" + "|\n" * 20000, "pipes": "|", "hard breaks": "a  \n",
    "LaTeX": "$a$ \\(b\\) $$c$$ \\[d\\] ", "LaTeX that does not end": "\\(a\\[", "dollars": "$a ", "pairs of dollars": "$$ a",
    "three dollars": "$$a$$$",
}


def random_text(source, pieces):
    """Fragments with line ends, as a string of Python."""
    text = []
    for _ in range(pieces):
        text.append(source.choice(FRAGMENTS))
        if source.random() < 0.25:
            text.append(source.choice(["\n", "\n", "\n", "\n\n", "  \n", "\\\n", "\n  ", "\n    ", "\n> ", "\n- ", "\n1. "]))
        if source.random() < 0.01:
            text.append(source.choice(FRAGMENTS) * source.choice([50, 3000]))
    return "".join(text)


def random_cuts(source, text):
    """Offsets in UTF-16 units, as JavaScript counts: some texts arrive unit by unit, others in a few pieces."""
    length = len(text.encode("utf-16-le", "surrogatepass")) // 2
    share = source.choice([0.02, 0.1, 0.5, 1]) if length < 2000 else 0.02
    return [offset for offset in range(1, length) if source.random() < share]


def cut_texts(count, seed=11):
    source = random.Random(seed)
    for _ in range(count):
        text = random_text(source, source.randint(1, 60))
        yield {"text": text, "cuts": random_cuts(source, text)}
