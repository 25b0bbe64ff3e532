// The text of a paragraph, heading or cell: a list of events (text, code, line breaks, opened and closed elements).

import { entityAt } from "./entities.js";
import { INCOMPLETE, autolinkAt, bareAddressAt, linkTailAt } from "./links.js";
import { withoutEnd } from "./text.js";

const PLAIN = /(?:(?!(?<![a-z0-9])(?:https?:\/\/|www\.)[a-z0-9\u00A1-\uFFFF])[^\n\\`*_~[\]!<&$])+/iy;
const DELIMITERS = /\*+|_+|~+/y;
const WHITE_SPACE = /\s/u;
const PUNCTUATION = /[\p{P}\p{S}]/u;
const ESCAPABLE = /[!-/:-@[-`{-~]/;
/**
 * What stands inside LaTeX, and its end, by its start. Nothing inside looks like another start of the kind, so all attempts together read
 * a text once. Dollars stay text where they may be prices: inside words, and beside space.
 */
const LATEX = {
  "$": { inside: /(?![\s$])(?:[^\\$`\n]|\\[^\n`])+/y, end: /(?<!\s)\$(?![a-z0-9$])/iy },
  "$$": { inside: /(?:[^\\$`]|\\[^`]|\$(?!\$))+/y, end: /\$\$(?!\$)/y },
  "\\(": { inside: /(?:[^\\`]|\\[^()`])+/y, end: /\\\)/y },
  "\\[": { inside: /(?:[^\\`]|\\[^[\]`])+/y, end: /\\\]/y },
};

/**
 * Reads text. The first `safe` events, which come from the first `safeLength` characters, stay the same whatever follows: no
 * delimiter, bracket or code span is open there, and the next word has begun. All that is still open at the end is text.
 */
export function readInlines(text, work) {
  const reader = new InlineReader(text);
  reader.read();
  work.steps += text.length + reader.steps;
  return { events: reader.events, safe: reader.safe, safeLength: reader.safeLength };
}

class InlineReader {
  events = [];
  safe = 0;
  safeLength = 0;
  steps = 0;
  #text;
  #offset = 0;
  /** True if a construct before the offset may still end in text that has not arrived. */
  #isUnclear = false;
  #brackets = [];
  /** The number of outer brackets that cannot be links, because they contain one. */
  #inactiveBrackets = 0;
  #delimiters = new DelimiterStack(this);
  #codeFences = null;

  constructor(text) {
    this.#text = text;
  }

  read() {
    while (this.#offset < this.#text.length) this.#readNext();
    this.#delimiters.match();
  }

  #readNext() {
    switch (this.#text[this.#offset]) {
    case "\n": return this.#readLineEnd();
    case "\\": return this.#readBackslash();
    case "$": return this.#readDollars();
    case "`": return this.#readCode();
    case "*": case "_": case "~": return this.#readDelimiters();
    case "!": return this.#text[this.#offset + 1] === "[" ? this.#openBracket("![") : this.#readLiteral("!");
    case "[": return this.#openBracket("[");
    case "]": return this.#closeBracket();
    case "<": return this.#readAngle();
    case "&": return this.#readEntity();
    default: return this.#readPlain();
    }
  }

  #match(pattern) {
    pattern.lastIndex = this.#offset;
    return pattern.exec(this.#text)?.[0] ?? "";
  }

  #readLiteral(text, length = text.length) {
    this.events.push({ kind: "text", text });
    this.#offset += length;
  }

  #readPlain() {
    const address = bareAddressAt(this.#text, this.#offset, this.#brackets.length > 0);
    if (address !== null) {
      this.#readSafe(this.#offset + 1);
      this.#readAutolink(address);
      if (address.isIncomplete) this.#isUnclear = true;
    } else {
      const end = this.#offset + (this.#match(PLAIN).length || 1);
      this.#readSafe(end);
      this.#readLiteral(this.#text.slice(this.#offset, end));
    }
  }

  /** If nothing is open, reads up to the last word that begins before an offset, and declares the text before it safe. */
  #readSafe(end) {
    if (this.#isUnclear || this.#brackets.length > 0 || !this.#delimiters.isEmpty) return;
    for (let i = end - 1; i >= this.#offset && i > 0; i -= 1) {
      if (!isWordStart(this.#text[i - 1], this.#text[i])) continue;
      if (i > this.#offset) this.#readLiteral(this.#text.slice(this.#offset, i));
      this.safe = this.events.length;
      this.safeLength = i;
      return;
    }
  }

  /** Two spaces before the end of a line are a hard break. */
  #readLineEnd() {
    const last = this.events.at(-1);
    let spaces = 0;
    if (last?.kind === "text") {
      const text = withoutEnd(last.text, " ");
      spaces = last.text.length - text.length;
      last.text = text;
    }
    if (spaces >= 2) this.events.push({ kind: "break" });
    this.#readLiteral("\n");
  }

  #readBackslash() {
    const next = this.#text[this.#offset + 1] ?? "";
    if ((next === "(" || next === "[") && this.#readLatex(`\\${next}`)) return;
    if (next === "\n") {
      this.events.push({ kind: "break" });
      this.#readLiteral("\n", 2);
    } else if (ESCAPABLE.test(next)) {
      this.#readLiteral(next, 2);
    } else {
      this.#readLiteral("\\");
    }
  }

  #readDollars() {
    const dollars = this.#match(/\$+/y);
    const isInWord = /[a-z0-9]/i.test(this.#text[this.#offset - 1] ?? "");
    if (isInWord || !(dollars in LATEX) || !this.#readLatex(dollars)) this.#readLiteral(dollars);
  }

  /** Reads LaTeX, in which nothing else counts. The result is false if it does not end. */
  #readLatex(start) {
    const { inside, end } = LATEX[start];
    inside.lastIndex = this.#offset + start.length;
    const isEmpty = !inside.test(this.#text);
    const stop = isEmpty ? this.#offset + start.length : inside.lastIndex;
    this.steps += stop - this.#offset;
    end.lastIndex = stop;
    if (!isEmpty && end.test(this.#text)) {
      this.events.push({ kind: "latex", text: this.#text.slice(this.#offset, end.lastIndex) });
      this.#offset = end.lastIndex;
      return true;
    }
    // What follows may end it, or belong to its start or its end.
    if (stop >= this.#text.length - 1) this.#isUnclear = true;
    return false;
  }

  #readEntity() {
    const entity = entityAt(this.#text, this.#offset);
    if (entity === null) return this.#readLiteral("&");
    this.#readLiteral(entity.value, entity.end - this.#offset);
  }

  #readCode() {
    const fence = this.#match(/`+/y);
    const start = this.#offset + fence.length;
    const end = this.#closingFence(fence.length, start);
    if (end === null) {
      this.#isUnclear = true;
      return this.#readLiteral(fence);
    }
    let code = this.#text.slice(start, end).replaceAll("\n", " ");
    if (code.startsWith(" ") && code.endsWith(" ") && /[^ ]/.test(code)) code = code.slice(1, -1);
    this.events.push({ kind: "code", text: code });
    this.#offset = end + fence.length;
  }

  /** The offset of the next run of backticks that has this length. */
  #closingFence(length, start) {
    if (this.#codeFences === null) {
      this.#codeFences = new Map();
      for (const { 0: { length }, index } of this.#text.matchAll(/`+/g)) {
        if (!this.#codeFences.has(length)) this.#codeFences.set(length, { next: 0, offsets: [] });
        this.#codeFences.get(length).offsets.push(index);
      }
    }
    const fences = this.#codeFences.get(length);
    if (fences === undefined) return null;
    while (fences.offsets[fences.next] < start) fences.next += 1;
    return fences.offsets[fences.next] ?? null;
  }

  #readAngle() {
    const link = autolinkAt(this.#text, this.#offset);
    if (link === INCOMPLETE) this.#isUnclear = true;
    if (link === INCOMPLETE || link === null) this.#readLiteral("<");
    else this.#readAutolink(link);
  }

  #readAutolink({ address, label, end }) {
    this.events.push({ kind: "open", name: "a", address }, { kind: "text", text: label }, { kind: "close" });
    this.#offset = end;
  }

  #readDelimiters() {
    const run = this.#match(DELIMITERS);
    const before = this.#text.slice(Math.max(0, this.#offset - 2), this.#offset).match(/.$/su)?.[0] ?? "\n";
    const after = String.fromCodePoint(this.#text.codePointAt(this.#offset + run.length) ?? 10);
    this.#readLiteral(run);
    if (run[0] === "~" && run.length !== 2) return;
    this.#delimiters.push(this.events.at(-1), run, before, after);
    if (this.#brackets.length === 0) this.#delimiters.match();
  }

  #openBracket(text) {
    this.#readLiteral(text);
    this.#brackets.push({ event: this.events.at(-1), isImage: text === "![", delimiters: this.#delimiters.length });
  }

  /** Emphasis inside a link ends inside it. So delimiters are matched when no bracket is open, and those in a link when it ends. */
  #closeBracket() {
    this.#readLiteral("]");
    const bracket = this.#brackets.pop();
    if (bracket === undefined) return;
    const outer = this.#brackets.length;
    if (bracket.isImage || outer >= this.#inactiveBrackets) this.#readLink(bracket);
    this.#inactiveBrackets = Math.min(this.#inactiveBrackets, outer);
    if (outer === 0) this.#delimiters.match();
  }

  #readLink({ event, isImage, delimiters }) {
    const tail = linkTailAt(this.#text, this.#offset);
    if (tail === null) return;
    this.steps += (tail.end ?? this.#text.length) - this.#offset;
    if (tail === INCOMPLETE) {
      this.#isUnclear = true;
      return;
    }
    this.#delimiters.matchLink(delimiters);
    Object.assign(event, { kind: "open", name: "a", address: tail.address, title: tail.title, isImage });
    this.events[this.events.length - 1] = { kind: "close" };
    this.#offset = tail.end;
    if (!isImage) this.#inactiveBrackets = this.#brackets.length;
  }
}

/** Says whether a word begins between two characters. Scripts without spaces count each character as one. */
const isWordStart = (previous, next) => (/\s/.test(previous) || previous >= "\u2E80") && !/[\s#\uDC00-\uDFFF]/.test(next);

/** Delimiters of emphasis and of deleted text that may still have a partner, by the rules of CommonMark, section 6.2. */
class DelimiterStack {
  #stack = [];
  /** The number of delimiters that have looked for an opener. */
  #matched = 0;
  /** For each kind of closer the order of the last delimiter below which there is no opener. */
  #floors = new Map();
  #order = 0;
  #reader;

  constructor(reader) {
    this.#reader = reader;
  }

  get length() { return this.#stack.length; }
  get isEmpty() { return this.#stack.length === 0; }

  push(event, run, before, after) {
    const isSpaceBefore = WHITE_SPACE.test(before);
    const isSpaceAfter = WHITE_SPACE.test(after);
    const isPunctuationBefore = PUNCTUATION.test(before);
    const isPunctuationAfter = PUNCTUATION.test(after);
    const isLeft = !isSpaceAfter && (!isPunctuationAfter || isSpaceBefore || isPunctuationBefore);
    const isRight = !isSpaceBefore && (!isPunctuationBefore || isSpaceAfter || isPunctuationAfter);
    const isWord = run[0] === "_" && isLeft && isRight;
    const canOpen = isLeft && (!isWord || isPunctuationBefore);
    const canClose = isRight && (!isWord || isPunctuationAfter);
    if (!canOpen && !canClose) return;
    Object.assign(event, { kind: "run", closes: [], opens: [] });
    this.#order += 1;
    this.#stack.push({ event, character: run[0], length: run.length, canOpen, canClose, order: this.#order });
  }

  /** Matches the closers that have not been matched yet. */
  match() {
    for (let i = this.#matched; i < this.#stack.length; i += 1) {
      if (this.#stack[i].canClose) i = this.#close(i, 0, this.#floors);
    }
    this.#matched = this.#stack.length;
  }

  /** Matches the delimiters in the text of a link, which begins at an index, and removes the others there. */
  matchLink(start) {
    const floors = new Map();
    for (let i = start; i < this.#stack.length; i += 1) {
      if (this.#stack[i].canClose) i = this.#close(i, start, floors);
    }
    this.#stack.length = start;
  }

  /** Matches the closer at an index. Returns the index of the last delimiter that is left, up to it. */
  #close(index, start, floors) {
    const closer = this.#stack[index];
    const kind = `${closer.character}${closer.canOpen}${closer.length % 3}`;
    while (closer.event.text !== "") {
      let i = index - 1;
      const floor = floors.get(kind) ?? 0;
      while (i >= start && this.#stack[i].order > floor && !isPair(this.#stack[i], closer)) i -= 1;
      this.#reader.steps += index - i;
      if (i < start || this.#stack[i].order <= floor) {
        if (index > start) floors.set(kind, this.#stack[index - 1].order);
        break;
      }
      const opener = this.#stack[i];
      const count = Math.min(opener.event.text.length, closer.event.text.length, 2);
      const name = closer.character === "~" ? "del" : count === 2 ? "strong" : "em";
      opener.event.text = opener.event.text.slice(count);
      closer.event.text = closer.event.text.slice(count);
      opener.event.opens.push(name);
      closer.event.closes.push(name);
      const left = opener.event.text === "" ? i : i + 1;
      this.#stack.splice(left, index - left);
      index = left;
    }
    if (closer.event.text !== "" && closer.canOpen) return index;
    this.#stack.splice(index, 1);
    return index - 1;
  }
}

function isPair(opener, closer) {
  if (opener.character !== closer.character || !opener.canOpen) return false;
  const isBothWays = closer.canOpen || opener.canClose;
  const isMultiple = (opener.length + closer.length) % 3 === 0;
  return !isBothWays || !isMultiple || opener.length % 3 === 0;
}
