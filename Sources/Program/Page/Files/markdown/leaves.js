// The blocks that contain text. One of them is open at a time. `append` gets the text of a line, in any number of pieces.

import { unescapeText } from "./entities.js";
import { InlineText } from "./inline-text.js";
import { appendElement, appendText } from "./nodes.js";
import { withoutEnd } from "./text.js";

export class Paragraph {
  kind = "paragraph";
  /** The only line of the paragraph, which may become the header of a table. It is nil if there are more. */
  header = "";
  #element;
  #text;
  #isLineEnded = false;

  constructor(parent, work, box = null) {
    this.#element = appendElement(parent, "p");
    if (box !== null) {
      appendText(appendElement(this.#element, "span", { class: "box" }), box);
      appendText(this.#element, " ");
    }
    this.#text = new InlineText(this.#element, work);
  }

  append(text) {
    if (this.#isLineEnded) {
      this.#isLineEnded = false;
      this.header = null;
      this.#text.append("\n");
    }
    if (this.header !== null) this.header += text;
    this.#text.append(text);
  }

  endLine() { this.#isLineEnded = true; }

  close() { this.#text.finish(); }

  /** Changes the paragraph into a heading, because its underline has arrived. */
  becomeHeading(level) {
    this.close();
    const heading = appendElement(this.#element.parentNode, `h${level}`);
    while (this.#element.firstChild !== null) heading.append(this.#element.firstChild);
    this.#element.remove();
  }

  remove() { this.#element.remove(); }
}

/** A heading of one line that begins with `#`. */
export class Heading {
  kind = "heading";
  #text;

  constructor(parent, level, work) {
    this.#text = new InlineText(appendElement(parent, `h${level}`), work);
  }

  append(text) { this.#text.append(text); }

  endLine() { this.#text.finish({ isHeading: true }); }

  close() {}
}

/** Fenced or indented code. */
export class Code {
  kind = "code";
  /** The opening fence with its indentation, or nil if the code is indented. */
  fence;
  #element;
  #blankLines = "";

  constructor(parent, fence, options) {
    this.fence = fence;
    const pre = appendElement(parent, "pre");
    const language = fence && unescapeText(fence.info).split(/\s/, 1)[0];
    this.#element = appendElement(pre, "code", /^[\w+#.-]{1,32}$/.test(language ?? "") ? { class: `language-${language}` } : {});
    options.onCode?.(pre, () => this.#element.textContent);
  }

  append(text) {
    appendText(this.#element, this.#blankLines + text);
    this.#blankLines = "";
  }

  /** Blank lines after indented code do not belong to it. */
  appendBlankLine(text) { this.#blankLines += `${text}\n`; }

  endLine() { appendText(this.#element, "\n"); }

  close() {}

  /** Says whether a line is a closing fence, or the start of one. */
  isFence(content) {
    const text = withoutEnd(content, " \t");
    return text === this.fence.character.repeat(text.length);
  }

  isClosingFence(content) {
    return this.isFence(content) && withoutEnd(content, " \t").length >= this.fence.length;
  }
}
