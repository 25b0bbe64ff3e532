// Markdown as nodes of a page, while it arrives. docs/markdown.md says which Markdown.

import { Blocks } from "./blocks.js";
import { endsInsidePair } from "./text.js";

/**
 * Appends the nodes of a Markdown text to a container. Text arrives in any pieces, and each takes time in proportion to its
 * length, on average. The nodes are final except those of the last line and of a word that is still open.
 *
 * `options.onCode(pre, text)` is called for each block of code; `text()` returns its text so far. `options.work.steps` counts the
 * characters that are read.
 */
export class MarkdownRenderer {
  #blocks;
  #half = "";
  #isAfterReturn = false;

  constructor(container, options = {}) {
    this.#blocks = new Blocks(container, options, options.work ?? { steps: 0 });
  }

  append(text) {
    if (text === "") return;
    text = this.#half + text;
    this.#half = endsInsidePair(text) ? text.at(-1) : "";
    this.#appendWhole(text.slice(0, text.length - this.#half.length));
  }

  /** The text is complete. */
  finish() {
    this.#appendWhole(this.#half);
    this.#half = "";
    this.#blocks.finish();
  }

  #appendWhole(text) {
    if (text === "") return;
    if (this.#isAfterReturn && text.startsWith("\n")) text = text.slice(1);
    this.#isAfterReturn = text.endsWith("\r");
    text.replaceAll("\0", "\uFFFD").split(/\r\n|\r|\n/).forEach((line, index) => {
      if (index > 0) this.#blocks.endLine();
      if (line !== "") this.#blocks.append(line);
    });
  }
}

/** Appends the nodes of a complete text. */
export function renderMarkdown(container, text, options) {
  const renderer = new MarkdownRenderer(container, options);
  renderer.append(text);
  renderer.finish();
}
