// The block structure: decides what each line continues and begins, and keeps the open blocks.

import { Code, Heading, Paragraph } from "./leaves.js";
import { CONTAINER_DEPTH, LINE_LIMIT, nextReading } from "./limits.js";
import { Line } from "./line.js";
import { appendElement } from "./nodes.js";
import { isUndecided, readBox, readContainerStart, readLeafStart } from "./starts.js";
import { Table } from "./tables.js";
import { lengthOfHead } from "./text.js";

/**
 * Reads lines in pieces. The start of a line is kept until no further character can change the block that it belongs to: a
 * decision, which `#decide` makes without changing anything, and `#apply` carries out. The rest of the line goes to its leaf.
 */
export class Blocks {
  #root;
  #options;
  #work;
  /** Open block quotes, lists and items, outermost first: `{ kind, element }`, items also with `indent`, lists with `type`. */
  #containers = [];
  /** The open paragraph, heading, code or table, or nil. */
  #leaf = null;
  /** After a blank line the number of containers that it does not loosen, else nil. */
  #blankLineDepth = null;
  #start = "";
  #isDecided = false;
  #nextReading = 0;
  /** The block that gets the rest of the current line, or nil. */
  #leafOfLine = null;

  constructor(root, options, work) {
    this.#root = root;
    this.#options = options;
    this.#work = work;
  }

  /** Appends text to the current line. */
  append(text) {
    this.#work.steps += text.length;
    if (this.#isDecided) {
      this.#leafOfLine?.append(text);
      return;
    }
    this.#start += text;
    if (this.#start.length >= this.#nextReading) this.#readStart(false);
  }

  endLine() {
    if (!this.#isDecided) this.#readStart(true);
    this.#leafOfLine?.endLine();
    this.#leafOfLine = null;
    this.#start = "";
    this.#isDecided = false;
    this.#nextReading = 0;
  }

  finish() {
    if (this.#start !== "") this.endLine();
    this.#closeTo(0);
  }

  #readStart(isWhole) {
    const length = lengthOfHead(this.#start, LINE_LIMIT);
    const isLong = length < this.#start.length;
    this.#work.steps += length + this.#containers.length + 1;
    const decision = this.#decide(new Line(this.#start.slice(0, length)), isWhole && !isLong, isLong);
    this.#nextReading = nextReading(this.#start.length);
    if (decision === null) return;
    this.#isDecided = true;
    this.#apply(decision);
    if (isLong) this.#leafOfLine?.append(this.#start.slice(length));
  }

  /**
   * The blocks that a line continues and begins: `depth` containers stay open, `opened` are new, and `leaf` says what becomes of
   * the text. The result is nil if the line is not whole and its next characters may change it, unless it is long.
   */
  #decide(line, isWhole, isLong) {
    const depth = this.#continuedDepth(line);
    const current = depth === this.#containers.length ? this.#leaf : null;
    const opened = [];
    const decision = (leaf, details = {}) => ({ depth, opened, leaf, line, ...details });
    if (line.isBlank && !isWhole && !isLong) return null;
    if (current?.kind === "code") {
      const leaf = decideCode(current, line, isWhole, isLong);
      if (leaf !== "other") return leaf && decision(leaf);
    }
    for (;;) {
      const isAfterText = this.#leaf?.kind === "paragraph" && opened.length === 0;
      const paragraph = isAfterText ? current : null;
      const text = () => decision(isAfterText ? "continued" : "paragraph");
      if (line.isBlank) return isWhole ? decision("blank") : isLong ? text() : null;
      if (line.indent >= 4) {
        if (isAfterText) return text();
        line.skipColumns(4);
        return decision("indented code");
      }

      const isInItem = opened.at(-1)?.kind === "item";
      const isRow = current?.kind === "table" && opened.length === 0;
      if (!isWhole && (isRow || isUndecided(line.content, paragraph !== null, isInItem))) return isLong ? text() : null;

      const start = readLeafStart(line, paragraph);
      if (start !== null) return decision(start.leaf, start);
      // An item may come with its list.
      const isFull = depth + 2 * opened.length >= CONTAINER_DEPTH;
      const container = isFull ? null : readContainerStart(line, paragraph !== null);
      if (container === null) {
        const box = isInItem ? readBox(line) : null;
        if (box !== null) return decision("paragraph", { box });
        return isRow ? decision("continued") : text();
      }
      opened.push(container);
    }
  }

  /** Skips the markers and indentation of the open containers that the line continues, and returns their number. */
  #continuedDepth(line) {
    let depth = 0;
    for (const { kind, element, indent } of this.#containers) {
      if (kind === "quote") {
        if (line.indent > 3 || !line.content.startsWith(">")) break;
        line.skipCharacters(1);
        line.skipColumns(1);
      } else if (kind === "item") {
        if (line.indent < indent && !(line.isBlank && element.hasChildNodes())) break;
        line.skipColumns(indent);
      }
      depth += 1;
    }
    return depth;
  }

  #apply({ depth, opened, leaf, line, ...details }) {
    switch (leaf) {
    case "continued":
      this.#leafOfLine = this.#leaf;
      this.#leaf.append(this.#leaf.kind === "paragraph" ? line.content : line.rest);
      break;
    case "underline":
      this.#leaf.becomeHeading(details.level);
      this.#leaf = null;
      break;
    case "closing fence":
      this.#leaf = null;
      break;
    case "blank":
      if (opened.length > 0) this.#enter(depth, opened);
      else return this.#applyBlankLine(depth, line);
      break;
    case "table":
      this.#leaf.remove();
      this.#begin(leaf, line, { ...details, header: this.#leaf.header });
      break;
    default:
      this.#enter(depth, opened);
      this.#begin(leaf, line, details);
    }
    this.#blankLineDepth = null;
  }

  #begin(leaf, line, { level, alignments, header, fence, box }) {
    const parent = this.#parentOfBlock();
    switch (leaf) {
    case "rule": appendElement(parent, "hr"); break;
    case "table": this.#leaf = new Table(parent, alignments, header, this.#work); break;
    case "fence": this.#leaf = new Code(parent, fence, this.#options); break;
    case "heading": this.#beginText(new Heading(parent, level, this.#work), line.content); break;
    case "paragraph": this.#beginText(new Paragraph(parent, this.#work, box), line.content); break;
    case "indented code": this.#beginText(new Code(parent, null, this.#options), line.rest);
    }
  }

  #beginText(leaf, text) {
    this.#leaf = this.#leafOfLine = leaf;
    leaf.append(text);
  }

  #applyBlankLine(depth, line) {
    if (depth === this.#containers.length && this.#leaf?.kind === "code") {
      line.skipColumns(4);
      this.#leaf.appendBlankLine(line.rest);
    } else {
      this.#closeTo(depth);
    }
    this.#blankLineDepth = this.#containers.findLastIndex(({ kind }) => kind === "quote") + 1;
  }

  #enter(depth, opened) {
    this.#closeTo(depth);
    for (const container of opened) {
      const element = container.kind === "item" ? appendElement(this.#listFor(container), "li")
        : appendElement(this.#parentOfBlock(), "blockquote");
      this.#containers.push({ ...container, element });
    }
  }

  #closeTo(depth) {
    this.#leaf?.close();
    this.#leaf = null;
    this.#containers.length = depth;
  }

  /** The element of the innermost container. A list is closed first, as a block other than an item follows. */
  #parentOfBlock() {
    if (this.#containers.at(-1)?.kind === "list") this.#containers.pop();
    const top = this.#containers.length - 1;
    if (top < 0) return this.#root;
    if (this.#containers[top].kind === "item") this.#loosenAfterBlankLine(top, this.#containers[top - 1].element);
    return this.#containers[top].element;
  }

  /** The element of the list to which an item belongs. */
  #listFor({ type, number }) {
    const top = this.#containers.at(-1);
    if (top?.kind === "list" && top.type === type) {
      this.#loosenAfterBlankLine(this.#containers.length - 1, top.element);
      return top.element;
    }
    const start = number === null || number === 1 ? {} : { start: String(number) };
    const element = appendElement(this.#parentOfBlock(), number === null ? "ul" : "ol", start);
    this.#containers.push({ kind: "list", type, element });
    return element;
  }

  /** A list is loose if a blank line separates its items, or the blocks in one of them. */
  #loosenAfterBlankLine(index, list) {
    const isSeparated = this.#blankLineDepth !== null && index >= this.#blankLineDepth;
    if (isSeparated && this.#containers[index].element.hasChildNodes()) list.className = "loose";
  }
}

/** The meaning of a line for the open code: "continued", "closing fence", "blank" or "other"; nil if that is undecided. */
function decideCode(code, line, isWhole, isLong) {
  if (code.fence === null) {
    if (line.indent < 4) return "other";
    if (line.isBlank && isWhole) return "blank";
    line.skipColumns(4);
    return "continued";
  }
  if (line.indent <= 3 && !line.isBlank) {
    if (!isWhole && !isLong && code.isFence(line.content)) return null;
    if (isWhole && code.isClosingFence(line.content)) return "closing fence";
  }
  line.skipColumns(code.fence.indent);
  return "continued";
}
