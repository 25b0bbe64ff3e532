// The words for a screen reader: whole sentences of an answer, and errors at once. They never move the focus.

import { $, h } from "../dom.js";
import { strings } from "../strings.js";

const keptLines = 20;

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
  let rest = reply.text;
  const flush = () => {
    const text = rest.trim();
    rest = "";
    if (text) say(text);
  };
  // A sentence ends with its mark and white space, or with its line.
  const speakSentences = () => {
    const sentences = /^[\s\S]*(?:[.!?…:]["'”’)\]]*\s|\n|[。！？])/.exec(rest)?.[0];
    if (!sentences) return;
    const after = rest.slice(sentences.length);
    rest = sentences;
    flush();
    rest = after;
  };
  speakSentences();
  const end = reply.listen((kind, piece) => {
    if (kind === "text") {
      rest += piece;
      speakSentences();
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
