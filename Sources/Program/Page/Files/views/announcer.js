// The words for a screen reader: whole sentences of an answer, and errors at once. They never move the focus.

import { $, h } from "../dom.js";
import { strings } from "../strings.js";

const keptLines = 20;
/// Characters without an end of a sentence that are spoken nevertheless.
const longestSentence = 1000;
/// A sentence ends with its mark and white space, or with its line.
const sentenceEnd = /[.!?…:]["'”’)\]]*\s|\n|[。！？]/g;
/// Characters of an end of a sentence that an earlier piece may have brought.
const overlap = 8;

function say(text) {
  const log = $("announcements");
  log.append(h("p", { text }));
  while (log.childElementCount > keptLines) log.firstElementChild.remove();
}

/// Speaks an error at once.
export function alertReader(text) {
  $("alerts").textContent = "";
  $("alerts").append(h("p", { text: strings.errorAnnouncement(text) }));
}

export { say };

/// Speaks the sentences of a reply as they become complete, the rest at its end.
export function speak(reply) {
  let rest = "";
  const flush = (length = rest.length) => {
    const text = rest.slice(0, length).trim();
    rest = rest.slice(length);
    if (text) say(text);
  };
  const add = (piece) => {
    const start = Math.max(0, rest.length - overlap);
    rest += piece;
    let end = 0;
    for (const found of rest.slice(start).matchAll(sentenceEnd)) end = start + found.index + found[0].length;
    if (end || rest.length > longestSentence) flush(end || rest.length);
  };
  add(reply.text);
  const end = reply.listen((kind, piece) => {
    if (kind === "text") {
      add(piece);
    } else if (kind === "step") {
      if (piece.state === "asked") say(strings.stepAsked(piece.name));
    } else if (kind === "reset") {
      rest = "";
    } else if (kind === "state" && reply.isOver) {
      flush();
      if (reply.error) alertReader(reply.error.text);
      else say(reply.state === "cancelled" ? strings.stoppedByUser : strings.answerFinished);
      end();
    }
  });
}
