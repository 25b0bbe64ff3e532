// The first characters of blocks. A line has lost the markers of its containers already.

import { alignmentsOf } from "./tables.js";
import { withoutEnd } from "./text.js";

const HEADING = /^(#{1,6})(?:[ \t]+|$)/;
const FENCE = /^(?:(`{3,})([^`]*)|(~{3,})([^]*))$/;
const RULE = /^(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const ITEM = /^(?:[-+*]|(\d{1,9})[.)])(?=[ \t]|$)/;
const UNDERLINE = /^(?:(=+)|-+)[ \t]*$/;
const BOX = /^\[([ xX])\][ \t]+(?=[^ \t])/;

const UNDECIDED = /^(?:#{1,6}[ \t]*|`{1,2}|`{3,}[^`]*|~{1,2}|~{3,}[^]*|\d{1,9}(?:[.)][ \t]*)?|[-+*_][-+*_ \t]*)$/;
const UNDECIDED_AFTER_TEXT = /^(?:=+[ \t]*|[-:| \t]+)$/;
const UNDECIDED_IN_ITEM = /^\[(?:[ xX](?:\][ \t]*)?)?$/;

/** Says whether more characters of the line may change what the start of it begins. */
export function isUndecided(content, isAfterText, isInItem) {
  return UNDECIDED.test(content) || (isAfterText && UNDECIDED_AFTER_TEXT.test(content)) || (isInItem && UNDECIDED_IN_ITEM.test(content));
}

/** The block that the line begins besides text and containers, or nil. `paragraph` is the one that it continues otherwise, or nil. */
export function readLeafStart(line, paragraph) {
  const content = line.content;
  const alignments = paragraph?.header ? alignmentsOf(content, paragraph.header) : null;
  if (alignments !== null) return { leaf: "table", alignments };
  const underline = paragraph && UNDERLINE.exec(content);
  if (underline) return { leaf: "underline", level: underline[1] ? 1 : 2 };
  const heading = HEADING.exec(content);
  if (heading) {
    line.skipCharacters(heading[0].length);
    return { leaf: "heading", level: heading[1].length };
  }
  const fence = FENCE.exec(content);
  if (fence) {
    const marker = fence[1] ?? fence[3];
    const info = (fence[2] ?? fence[4]).trim();
    return { leaf: "fence", fence: { character: marker[0], length: marker.length, info, indent: line.indent } };
  }
  return RULE.test(content) ? { leaf: "rule" } : null;
}

/**
 * Reads the marker of a block quote or list item. `type` is the last character of an item's marker: items of another type begin
 * another list. An item with another number than 1, or without text, does not interrupt a paragraph.
 */
export function readContainerStart(line, isAfterText) {
  const content = line.content;
  if (content.startsWith(">")) {
    line.skipCharacters(1);
    line.skipColumns(1);
    return { kind: "quote" };
  }
  const match = ITEM.exec(content);
  if (match === null) return null;
  const { 0: { length }, 1: digits } = match;
  const number = digits === undefined ? null : Number(digits);
  if (isAfterText && ((number ?? 1) !== 1 || withoutEnd(content, " \t").length === length)) return null;
  const markerEnd = line.indent + length;
  line.skipCharacters(length);
  const padding = line.isBlank || line.indent > 4 ? 1 : line.indent;
  line.skipColumns(padding);
  return { kind: "item", type: match[0].at(-1), number, indent: markerEnd + padding };
}

/** Reads the box of a task at the start of an item. */
export function readBox(line) {
  const match = BOX.exec(line.content);
  if (match === null) return null;
  line.skipCharacters(match[0].length);
  return match[1] === " " ? "☐" : "☑";
}
