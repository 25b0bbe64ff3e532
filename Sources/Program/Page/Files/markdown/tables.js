// Tables, as GitHub's Markdown has them. Their header is the first line of a paragraph.

import { InlineText } from "./inline-text.js";
import { COLUMN_LIMIT } from "./limits.js";
import { appendElement } from "./nodes.js";
import { withoutEnd } from "./text.js";

const DELIMITER_CELL = /^(:?)-+(:?)$/;

/** The alignments of a delimiter row such as `| --- | :-: |`, or nil if the line is not one for this header. */
export function alignmentsOf(line, header) {
  if (!/^[-:| \t]+$/.test(line) || !/[|:]/.test(line)) return null;
  const cells = cellsOf(line);
  if (cells.length > COLUMN_LIMIT || cells.length !== cellsOf(header).length) return null;
  const matches = cells.map((cell) => DELIMITER_CELL.exec(cell));
  if (matches.includes(null)) return null;
  return matches.map(([, left, right]) => (left && right ? "center" : right ? "right" : left ? "left" : null));
}

/** The cells of a row. A backslash before `|` makes it text. */
function cellsOf(line) {
  const row = withoutEnd(line.trimStart(), " \t");
  const cells = [""];
  for (const [part] of row.matchAll(/\\[^]|\||[^\\|]+|\\$/g)) {
    if (part === "|") cells.push("");
    else cells[cells.length - 1] += part === "\\|" ? "|" : part;
  }
  if (row.startsWith("|")) cells.shift();
  if (cells.length > 1 && cells.at(-1) === "") cells.pop();
  return cells.map((cell) => cell.trim());
}

export class Table {
  kind = "table";
  #alignments;
  #table;
  #body = null;
  #work;

  constructor(parent, alignments, header, work) {
    this.#alignments = alignments;
    this.#work = work;
    this.#table = appendElement(parent, "table");
    this.#appendRow(appendElement(this.#table, "thead"), "th", header);
  }

  /** Appends a row. Surplus cells are left out; missing ones are not added, so a short line stays cheap. */
  append(line) {
    this.#body ??= appendElement(this.#table, "tbody");
    this.#appendRow(this.#body, "td", line);
  }

  endLine() {}

  close() {}

  #appendRow(parent, name, line) {
    const row = appendElement(parent, "tr");
    cellsOf(line).slice(0, this.#alignments.length).forEach((cell, column) => {
      const alignment = this.#alignments[column];
      const element = appendElement(row, name, alignment ? { class: `align-${alignment}` } : {});
      const text = new InlineText(element, this.#work);
      text.append(cell);
      text.finish();
    });
  }
}
