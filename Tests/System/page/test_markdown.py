"""The Markdown renderer of the web page, in Chromium: CommonMark's examples, text in pieces, linear work, and hostile texts."""

import json
import os
import pathlib
import re
import subprocess
import unittest

from harness.machine import TOP
from page.hostile import HOST, hostile_texts
from page.markdown_page import FILES, LENIENT, MarkdownPage
from page.texts import SHAPES, cut_texts

DOCUMENT = (TOP / "docs" / "markdown.md").read_text()
EXAMPLES = json.loads(pathlib.Path(os.environ["COMMONMARK"]).read_text())
# Debian's cmark follows CommonMark 0.30, the examples 0.31. These have another result there.
CHANGED_EXAMPLES = {354, 625, 626}
KIB = 1024


def cmark(text):
    return subprocess.run(["cmark", "--unsafe"], input=text.encode(), capture_output=True, check=True).stdout.decode()


def unsupported_examples():
    """The numbers in the last table of the document, by section."""
    sections = {}
    for section, numbers in re.findall(r"^\| ([^|]+) \| ([\d–, ]+) \| [^|]+ \|$", DOCUMENT.split("## Examples")[1], re.MULTILINE):
        for first, last in re.findall(r"(\d+)(?:–(\d+))?", numbers):
            sections.setdefault(section, set()).update(range(int(first), int(last or first) + 1))
    return sections


class MarkdownCase(unittest.TestCase):
    """One page for all tests of a class."""

    policy = {}

    @classmethod
    def setUpClass(cls):
        cls.markdown = MarkdownPage(**cls.policy)
        cls.addClassCleanup(cls.markdown.close)


class CommonMarkTests(MarkdownCase):
    policy = {"policy": LENIENT}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.cmark = [cmark(example["markdown"]) for example in EXAMPLES]

    def forms(self, pages):
        """The normal forms of our nodes, and of the nodes of the HTML, for each example."""
        return self.markdown.call("normalForms", [[example["markdown"], html] for example, html in zip(EXAMPLES, pages, strict=True)])

    def test_examples_have_the_nodes_of_cmark_except_the_listed_ones(self):
        pages = [
            example["html"] if example["example"] in CHANGED_EXAMPLES else html for example, html in zip(EXAMPLES, self.cmark, strict=True)]
        others = {}
        for example, (ours, theirs) in zip(EXAMPLES, self.forms(pages), strict=True):
            if ours != theirs:
                others.setdefault(example["section"], set()).add(example["example"])
        self.assertEqual(len(EXAMPLES), 652)
        self.assertEqual(others, unsupported_examples())

    def test_cmark_has_the_nodes_of_the_examples_except_the_changed_ones(self):
        others = zip(EXAMPLES, self.forms(self.cmark), self.forms([example["html"] for example in EXAMPLES]), strict=True)
        self.assertEqual({example["example"] for example, form, other in others if form != other}, CHANGED_EXAMPLES)


class PieceTests(MarkdownCase):
    def assert_pieces_do_not_matter(self, texts):
        for i in range(0, len(texts), 500):
            difference = self.markdown.call("firstDifference", texts[i:i + 500])
            self.assertIsNone(difference, json.dumps(difference))

    def test_random_texts_have_the_same_nodes_in_random_pieces(self):
        texts = list(cut_texts(5000))
        self.assertEqual(len(texts), 5000)
        self.assert_pieces_do_not_matter(texts)

    def test_examples_have_the_same_nodes_unit_by_unit(self):
        self.assert_pieces_do_not_matter([{"text": text, "cuts": list(range(1, len(text)))} for text in self.examples()])

    def test_examples_have_the_same_nodes_at_each_cut(self):
        self.assert_pieces_do_not_matter([{"text": text, "cuts": [cut]} for text in self.examples() for cut in range(1, len(text))])

    def test_a_character_of_two_units_arrives_in_two_pieces(self):
        self.assertEqual(self.markdown.call("textAfterEach", ["a \ud83d", "\ude00 b", " \ud83d"]), ["a ", "a 😀 b", "a 😀 b \ud83d"])

    def test_no_node_ends_inside_a_character(self):
        for text in ("a" + "😀" * 9000, "*a" + "😀" * 9000, "    a" + "😀" * 9000):
            self.assertEqual(self.markdown.call("brokenNodes", text), 0)

    def examples(self):
        return [example["markdown"] for example in EXAMPLES]


class ArrivalTests(MarkdownCase):
    def test_open_text_is_shown(self):
        pieces = ["- a *b", " c* [d](http", "://e.f) `g", "`\n\n# h", "i\n```js\ncode", "\nx"]
        shown = ["a *b", "a b c [d](http", "a b c d `g", "a b c d gh", "a b c d ghicode", "a b c d ghicode\nx\n"]
        self.assertEqual(self.markdown.call("textAfterEach", pieces), shown)

    def test_finished_blocks_are_not_touched(self):
        text = "Some *text* with `code`.\n\n# Title #\n\n```js\nlet a\n```\n\n| a | b |\n|---|---|\n| c | d |\n\nTitle\n===\n\n> quote\n\n" * 20
        self.assertEqual(self.markdown.call("touchedBlocks", text, 7), [])

    def test_code_is_announced_once_and_its_text_can_be_read(self):
        text = "```js\nlet a\n```\n\n    b\n\n> ```\n> c"
        self.assertEqual(self.markdown.call("announcedCode", text), [["PRE", "let a\n"], ["PRE", "b\n"], ["PRE", "c\n"]])


class WorkTests(MarkdownCase):
    def test_work_is_linear_up_to_1_mib(self):
        for name, unit in SHAPES.items():
            for size in (100, KIB * KIB):
                with self.subTest(shape=name, size=size):
                    small, large = (self.markdown.call("workOf", unit, length, size) for length in (256 * KIB, KIB * KIB))
                    self.assertLessEqual(large["steps"], 4.5 * small["steps"])
                    self.assertLessEqual(large["nodes"], 4.5 * small["nodes"])
                    self.assertLessEqual(large["steps"], 40 * KIB * KIB)
                    self.assertLessEqual(large["nodes"], KIB * KIB)

    def test_nodes_are_not_deep(self):
        for unit in ("> ", "- ", "1. ", "**a *b ", "[a *b ", "> - "):
            with self.subTest(unit=unit):
                self.assertLessEqual(self.markdown.call("depthOf", unit * 3000 + "a** b*" * 3000), 32 + 1 + 16 + 2)

    def test_the_document_lists_all_limits(self):
        code = (FILES / "markdown" / "limits.js").read_text()
        self.assertEqual(
            dict(re.findall(r"^\| `([A-Z_]+)`: [^|]+ \| (\d+) \|", DOCUMENT, re.MULTILINE)),
            dict(re.findall(r"^export const ([A-Z_]+) = (\d+);$", code, re.MULTILINE)))


class ExtensionTests(MarkdownCase):
    """What GitHub's Markdown adds, and what the renderer does in its own way."""

    LINK = 'rel="noopener noreferrer nofollow" target="_blank"'

    def check(self, text, html):
        self.assertEqual(self.markdown.call("htmlOf", text), html)

    def test_table(self):
        self.check("| a | *b* | c |\n|:--|:-:|--:|\n| `1\\|2` | 3 |\n4 | 5 | 6 | 7\n\nend", (
            '<table><thead><tr><th class="align-left">a</th><th class="align-center"><em>b</em></th><th class="align-right">c</th></tr>'
            '</thead><tbody><tr><td class="align-left"><code>1|2</code></td><td class="align-center">3</td></tr>'
            '<tr><td class="align-left">4</td><td class="align-center">5</td><td class="align-right">6</td></tr></tbody></table><p>end</p>'))

    def test_table_ends_before_another_block(self):
        self.check("a | b\n--- | ---\n1 | 2\n> c", (
            "<table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td><td>2</td></tr></tbody></table>"
            "<blockquote><p>c</p></blockquote>"))

    def test_header_and_delimiters_have_the_same_columns(self):
        self.check("| a | b |\n| --- |", "<p>| a | b |\n| --- |</p>")

    def test_deleted_text(self):
        self.check("~~a *b*~~ ~c~ ~~~d~~~", "<p><del>a <em>b</em></del> ~c~ ~~~d~~~</p>")

    def test_tasks(self):
        self.check("- [ ] a\n- [x] *b*\n- [x]c", (
            '<ul><li><p><span class="box">☐</span> a</p></li><li><p><span class="box">☑</span> <em>b</em></p></li>'
            "<li><p>[x]c</p></li></ul>"))

    def test_addresses_in_text(self):
        self.check("see https://a.b/c_(d)_e?f=1, (www.g.h). xhttp://i.j", (
            f'<p>see <a href="https://a.b/c_(d)_e?f=1" {self.LINK}>https://a.b/c_(d)_e?f=1</a>, '
            f'(<a href="http://www.g.h/" {self.LINK}>www.g.h</a>). xhttp://i.j</p>'))

    def test_image_is_a_link(self):
        self.check("![a *b*](https://c.d/e.png)![](https://f.g/)[![h](https://i.j)](https://k.l)", (
            f'<p><a class="image" href="https://c.d/e.png" {self.LINK}>a b</a><a class="image" href="https://f.g/" {self.LINK}>'
            f'https://f.g/</a><a href="https://k.l/" {self.LINK}>h</a></p>'))

    def test_address_of_another_kind_is_not_followed(self):
        self.check("[a](/b) [c](data:text/html,d) ![e](blob:https://f.g/h) [i](https:\\\\j.k)", (
            '<p><a>a</a> <a>c</a> <a class="image">e</a> <a>i</a></p>'))

    def test_html_is_text(self):
        self.check("<b>a</b>", "<p>&lt;b&gt;a&lt;/b&gt;</p>")

    def test_latex_is_not_changed(self):
        for text in (r"$a*b*c$", r"$x_1 \cdot x_2$", r"$\$$", r"$$\{a\}_b \, c\\d_e$$", "$$\na_1 \\\\  \n*b*\n$$", r"\(\{x\}\)",
                     r"\([a](b)\)", r"\[a \\[4pt] b\]"):
            with self.subTest(text=text):
                self.check(text, f'<p><span class="latex">{text}</span></p>')
        self.check(r"**$a*b$** 当$x$时 \(y\).", (
            '<p><strong><span class="latex">$a*b$</span></strong> 当<span class="latex">$x$</span>时 <span class="latex">\\(y\\)</span>.</p>'))

    def test_other_dollars_and_escapes_are_text(self):
        for text, html in (
                ("$5 *and* $6, US$7 *or* 8$", "$5 <em>and</em> $6, US$7 <em>or</em> 8$"), ("$5-$6 $ *a* $", "$5-$6 $ <em>a</em> $"),
                ("$*a*\nb$", "$<em>a</em>\nb$"), ("$a `$`", "$a <code>$</code>"), ("$$$*a*$$$", "$$$<em>a</em>$$$"),
                ("\\$*a*$", "$<em>a</em>$"), ("f\\(\\) \\[*a*](b)", "f() [<em>a</em>](b)")):
            with self.subTest(text=text):
                self.check(text, f"<p>{html}</p>")

    def test_loose_lists_have_a_class(self):
        self.check("- a\n\n- b\n  - c\n  - d", (
            '<ul class="loose"><li><p>a</p></li><li><p>b</p><ul><li><p>c</p></li><li><p>d</p></li></ul></li></ul>'))

    def test_emphasis_longer_than_the_window_is_text(self):
        text = "a" * 9000
        self.check(f"*{text}* *b*", f"<p>*{text}* <em>b</em></p>")

    def test_no_text_of_a_long_line_is_lost(self):
        for start in ("|", "```", "- - ", "> ", "#", "=", "[", "    ", "1. "):
            with self.subTest(start=start):
                text = start * 9000 + "end"
                shown = self.markdown.call("textAfterEach", ["a\n\n", text])[-1]
                self.assertTrue(shown.endswith("end"))


class HostileTests(MarkdownCase):
    def test_no_script_runs_and_no_request_leaves(self):
        texts = hostile_texts()
        self.assertGreaterEqual(len(texts), 200)
        for name in ("showWhole", "showUnitByUnit"):
            found = self.markdown.call(name, texts)
            self.assertEqual(found["hits"], 0)
            self.assertEqual(found["violations"], [])
            self.assertEqual(found["surprises"], [])
            self.assertGreater(found["links"], 100)
        self.assertEqual(self.markdown.requests_to_others(), [])


class DetectionTests(MarkdownCase):
    """The same texts as HTML: what HostileTests counts really occurs."""

    # This page allows scripts and requests. Texts that would replace it, or its address, are left out.
    policy = {"policy": "frame-ancestors 'none'"}

    def test_scripts_and_requests_are_found(self):
        found = self.markdown.call("showAsHTML", [text for text in hostile_texts() if not re.search("refresh|<base", text)])
        self.assertGreater(found["hits"], 10)
        self.assertNotEqual(found["surprises"], [])
        self.assertTrue(any(HOST in url for url in self.markdown.requests_to_others()))


class PolicyTests(MarkdownCase):
    def test_violations_are_found(self):
        found = self.markdown.call("violate")
        self.assertEqual(len(found["violations"]), 2)
        self.assertEqual(self.markdown.requests_to_others(), [f"https://{HOST}/a.png"])
