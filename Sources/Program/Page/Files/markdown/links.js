// Addresses: which ones become links, and how they are written.

import { unescapeText } from "./entities.js";
import { PARENTHESIS_DEPTH } from "./limits.js";

const SCHEMES = new Set(["http:", "https:", "mailto:"]);
const AUTOLINK = /<(?:([a-z][a-z0-9+.-]{1,31}:[^\s<>\0-\x1F]*)|([a-z0-9.!#$%&'*+/=?^_`{|}~-]+@[a-z0-9-]+(?:\.[a-z0-9-]+)*))>/iy;
const BARE = /(?<![a-z0-9])(?:https?:\/\/|www\.)(?=[a-z0-9\u00A1-\uFFFF])[^\s<`]*/iy;
const BARE_IN_BRACKETS = new RegExp(BARE.source.replace("[^\\s<`]", "[^\\s<`\\]]"), "iy");
const UNFINISHED = /<[^\s<>]*$/y;
const SPACE = /[ \t]*(?:\n[ \t]*)?/y;
const CLOSERS = { '"': '"', "'": "'", "(": ")" };

/** The result of reading text that may become a link when more of it has arrived. */
export const INCOMPLETE = Symbol("incomplete");

/** The normalized form of an absolute http, https or mailto address, or nil. Nothing else may become an `href`. */
export function safeAddress(address) {
  try {
    // A browser would read a backslash as a slash.
    const url = new URL(address.replaceAll("\\", "%5C"));
    return SCHEMES.has(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

/** Reads `<http://…>` or `<name@host>`. */
export function autolinkAt(text, offset) {
  AUTOLINK.lastIndex = UNFINISHED.lastIndex = offset;
  const match = AUTOLINK.exec(text);
  if (match === null) return UNFINISHED.test(text) ? INCOMPLETE : null;
  const [source, address, mail] = match;
  return { address: address ?? `mailto:${mail}`, label: address ?? mail, end: offset + source.length };
}

/** Reads an address that stands in the text. It ends before punctuation, and inside brackets before `]`. More may follow at the end. */
export function bareAddressAt(text, offset, isInsideBrackets) {
  const pattern = isInsideBrackets ? BARE_IN_BRACKETS : BARE;
  pattern.lastIndex = offset;
  const match = pattern.exec(text);
  if (match === null) return null;
  const label = withoutPunctuation(match[0]);
  const isIncomplete = pattern.lastIndex === text.length;
  return { address: /^www/i.test(label) ? `http://${label}` : label, label, end: offset + label.length, isIncomplete };
}

function withoutPunctuation(address) {
  let surplus = address.split(")").length - address.split("(").length;
  let end = address.length;
  for (; end > 0; end -= 1) {
    const last = address[end - 1];
    if (last === ")" && surplus > 0) surplus -= 1;
    else if (!"?!.,:;*_~'\"|".includes(last)) break;
  }
  return address.slice(0, end);
}

/** Reads `(address "title")` after the text of a link. The result is nil if it is something else. */
export function linkTailAt(text, offset) {
  if (offset === text.length) return INCOMPLETE;
  if (text[offset] !== "(") return null;
  const address = addressAt(text, afterSpace(text, offset + 1));
  if (address === null || address === INCOMPLETE) return address;
  let end = afterSpace(text, address.end);
  let title = null;
  if (end > address.end && text[end] in CLOSERS) {
    title = titleAt(text, end);
    if (title === null || title === INCOMPLETE) return title;
    end = afterSpace(text, title.end);
  }
  if (end >= text.length) return INCOMPLETE;
  if (text[end] !== ")") return null;
  return { address: unescapeText(address.value), title: title && unescapeText(title.value), end: end + 1 };
}

function afterSpace(text, offset) {
  SPACE.lastIndex = offset;
  return offset + SPACE.exec(text)[0].length;
}

function addressAt(text, start) {
  if (text[start] === "<") {
    for (let i = start + 1; i < text.length; i += text[i] === "\\" ? 2 : 1) {
      if (text[i] === ">") return { value: text.slice(start + 1, i), end: i + 1 };
      if (text[i] === "<" || text[i] === "\n") return null;
    }
    return INCOMPLETE;
  }
  let depth = 0;
  for (let i = start; i < text.length; i += text[i] === "\\" && /[!-/:-@[-`{-~]/.test(text[i + 1] ?? "") ? 2 : 1) {
    if (text[i] === "(") depth += 1;
    if (depth > PARENTHESIS_DEPTH) return null;
    if (text[i] === ")") depth -= 1;
    if (depth < 0 || text[i] <= " ") return depth > 0 ? null : { value: text.slice(start, i), end: i };
  }
  return INCOMPLETE;
}

function titleAt(text, start) {
  const closer = CLOSERS[text[start]];
  for (let i = start + 1; i < text.length; i += text[i] === "\\" ? 2 : 1) {
    if (text[i] === closer) return { value: text.slice(start + 1, i), end: i + 1 };
    if (text[i] === "(" && closer === ")") return null;
  }
  return INCOMPLETE;
}
