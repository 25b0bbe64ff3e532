// The head of a line: indentation and markers of blocks, in columns.

/** Reads a line from its start. A tab reaches to the next multiple of four columns, and a marker may take a part of it. */
export class Line {
  #text;
  #offset = 0;
  #column = 0;
  #isInsideTab = false;
  #textOffset = 0;
  #textColumn = 0;

  constructor(text) {
    this.#text = text;
    this.#findText();
  }

  /** Columns of white space before the text. */
  get indent() { return this.#textColumn - this.#column; }

  /** True if only white space is left. */
  get isBlank() { return this.#textOffset === this.#text.length; }

  /** The rest of the line after white space. */
  get content() { return this.#text.slice(this.#textOffset); }

  /** The rest of the line with its white space. */
  get rest() {
    if (!this.#isInsideTab) return this.#text.slice(this.#offset);
    return " ".repeat(4 - (this.#column % 4)) + this.#text.slice(this.#offset + 1);
  }

  /** Skips white space, up to a number of columns. */
  skipColumns(columns) {
    for (let left = Math.min(columns, this.indent); left > 0;) {
      const width = this.#widthAt(this.#offset, this.#column);
      this.#isInsideTab = width > left;
      if (!this.#isInsideTab) this.#offset += 1;
      this.#column += Math.min(width, left);
      left -= width;
    }
  }

  /** Skips all white space and then a number of characters. */
  skipCharacters(count) {
    this.#offset = this.#textOffset + count;
    this.#column = this.#textColumn + count;
    this.#isInsideTab = false;
    this.#findText();
  }

  #widthAt(offset, column) {
    const character = this.#text[offset];
    return character === " " ? 1 : character === "\t" ? 4 - (column % 4) : 0;
  }

  #findText() {
    this.#textOffset = this.#offset;
    this.#textColumn = this.#column;
    for (let width; (width = this.#widthAt(this.#textOffset, this.#textColumn)) > 0; this.#textOffset += 1) {
      this.#textColumn += width;
    }
  }
}
