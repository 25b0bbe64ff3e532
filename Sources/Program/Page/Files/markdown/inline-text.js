// Shows the text of one paragraph, heading or cell while it arrives.

import { readInlines } from "./inlines.js";
import { INLINE_DEPTH, WINDOW, nextReading } from "./limits.js";
import { safeAddress } from "./links.js";
import { appendElement, appendText } from "./nodes.js";
import { lengthOfHead, withoutEnd } from "./text.js";

/**
 * Text whose start is final. Only its tail is read again, which begins at the last word before which nothing is open. If the tail
 * is longer than a window, what is still open there stays text.
 */
export class InlineText {
  #element;
  #work;
  #tail = "";
  #lastFinalNode = null;
  #nextReading = 0;

  constructor(element, work) {
    this.#element = element;
    this.#work = work;
    this.#lastFinalNode = element.lastChild;
  }

  append(text) {
    this.#tail += text;
    if (this.#tail.length < this.#nextReading) {
      appendText(this.#element, text, this.#lastFinalNode);
      return;
    }
    this.#removeTail();
    this.#finishWindows();
    const { events, safe, safeLength } = readInlines(this.#tail, this.#work);
    this.#appendFinal(events.slice(0, safe), safeLength);
    appendEvents(this.#element, events.slice(safe), this.#lastFinalNode);
    this.#nextReading = nextReading(this.#tail.length);
  }

  /** The text is complete. A heading also drops its closing sequence of `#`. */
  finish({ isHeading = false } = {}) {
    this.#removeTail();
    this.#finishWindows();
    let text = withoutEnd(this.#tail, " \t");
    if (isHeading) {
      const title = withoutEnd(text, "#");
      if (title === "" || title !== withoutEnd(title, " \t")) text = withoutEnd(title, " \t");
    }
    this.#appendFinal(readInlines(text, this.#work).events, this.#tail.length);
  }

  #finishWindows() {
    while (this.#tail.length > WINDOW) {
      const window = this.#tail.slice(0, lengthOfHead(this.#tail, WINDOW));
      const { events, safe, safeLength } = readInlines(window, this.#work);
      if (safeLength > 0) this.#appendFinal(events.slice(0, safe), safeLength);
      else this.#appendFinal(events, window.length);
    }
  }

  #appendFinal(events, length) {
    appendEvents(this.#element, events);
    this.#tail = this.#tail.slice(length);
    this.#lastFinalNode = this.#element.lastChild;
  }

  #removeTail() {
    while (this.#element.lastChild !== this.#lastFinalNode) this.#element.lastChild.remove();
  }
}

/** Appends the nodes of events. Links in links, elements in the text of images, and too deep ones are left out, but not their text. */
function appendEvents(element, events, kept = null) {
  const open = [{ element, isInLink: false, isInImage: false }];
  let text = "";
  const flush = () => {
    appendText(open.at(-1).element, text, kept);
    text = "";
  };
  const enter = (event) => {
    flush();
    const top = open.at(-1);
    const isLink = event.name === "a";
    const isHidden = top.isInImage || (isLink && top.isInLink) || open.length > INLINE_DEPTH;
    open.push({
      element: isHidden ? top.element : appendElement(top.element, event.name, isLink ? linkAttributes(event) : {}),
      isInLink: top.isInLink || isLink,
      isInImage: top.isInImage || Boolean(event.isImage),
      textIfEmpty: event.isImage && !isHidden ? shortAddress(event.address) : "",
    });
  };
  const leave = () => {
    flush();
    const { element: left, textIfEmpty } = open.pop();
    if (left.firstChild === null) appendText(left, textIfEmpty);
  };
  for (const event of events) {
    const { isInImage } = open.at(-1);
    if (event.kind === "open") {
      enter(event);
    } else if (event.kind === "close") {
      leave();
    } else if (event.kind === "run") {
      event.closes.forEach(leave);
      text += event.text;
      event.opens.toReversed().forEach((name) => enter({ name }));
    } else if (event.kind === "text" || isInImage) {
      text += event.text ?? "";
    } else {
      flush();
      const names = { code: "code", latex: "span", break: "br" };
      const added = appendElement(open.at(-1).element, names[event.kind], event.kind === "latex" ? { class: "latex" } : {});
      if (event.text) appendText(added, event.text);
    }
  }
  flush();
}

function linkAttributes({ address, title, isImage }) {
  const href = safeAddress(address);
  return {
    ...(isImage ? { class: "image" } : {}),
    ...(title ? { title } : {}),
    ...(href === null ? {} : { href, rel: "noopener noreferrer nofollow", target: "_blank" }),
  };
}

const shortAddress = (address) => (address.length > 60 ? `${address.slice(0, 60)}…` : address);
