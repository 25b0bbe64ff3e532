"""The decoder of event streams, after the examples and rules of the HTML Standard, section 9.2."""


from page.page_case import PageCase

STREAMS = [
    ("data: YHOO\ndata: +2\ndata: 10\n\n", [["message", "YHOO\n+2\n10", None]]),
    (": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
     [["message", "first event", "1"], ["message", "second event", ""], ["message", " third event", None]]),
    ("data\n\ndata\ndata\n\ndata:", [["message", "", None], ["message", "\n", None]]),
    ("data:test\n\ndata: test\n\n", [["message", "test", None], ["message", "test", None]]),
    ("event: add\ndata: 73857293\n\nevent: remove\ndata: 2153\n\n", [["add", "73857293", None], ["remove", "2153", None]]),
    ("event: add\n\ndata: x\n\n", [["message", "x", None]]),
    ("data: a\r\ndata: b\r\n\r\ndata: c\r\rdata: d\n\r\n", [["message", "a\nb", None], ["message", "c", None], ["message", "d", None]]),
    ("retry: 1000\nunknown: x\nno colon\ndata: a: b\n\n", [["message", "a: b", None]]),
    ("id: 1\0\ndata: x\n\n", [["message", "x", None]]),
    ("data: Grüße 🐣\n\n", [["message", "Grüße 🐣", None]]),
    ("data: cut off", []),
]
DECODE = """async ([stream, size]) => {
    const {EventDecoder} = await import(new URL("page/events.js", document.baseURI));
    const events = [];
    const decoder = new EventDecoder((event) => events.push([event.name, event.data, event.id ?? null]));
    for (let start = 0; start < stream.length; start += size) decoder.push(stream.slice(start, start + size));
    return events;
}"""


class EventDecoderTests(PageCase):
    def test_streams_of_the_standard_are_read_in_pieces_of_any_size(self):
        self.open()
        for stream, events in STREAMS:
            for size in range(1, len(stream) + 1):
                self.assertEqual(self.page.evaluate(DECODE, [stream, size]), events, (stream, size))
