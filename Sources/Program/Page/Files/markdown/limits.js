// Limits of the Markdown renderer. docs/markdown.md says what happens at each of them.

/** Characters at the start of a line that may decide which block it belongs to. A longer undecided line is text of a paragraph. */
export const LINE_LIMIT = 8192;

/** Characters of a paragraph in which emphasis, a link, LaTeX or a code span must end. */
export const WINDOW = 8192;

/** Open block quotes, lists and list items. Further markers are text. */
export const CONTAINER_DEPTH = 32;

/** Nested emphasis and links. Further ones are shown without their element. */
export const INLINE_DEPTH = 16;

/** Columns of a table. A wider one is text. */
export const COLUMN_LIMIT = 64;

/** Open parentheses in the address of a link. */
export const PARENTHESIS_DEPTH = 32;

/** UTF-16 units of a text node. The next one begins after them, because appending to a node copies it. */
export const TEXT_NODE_LIMIT = 4096;

/** Text is read again when it has grown by a fraction of its length, so the total stays linear however it arrives. */
export const nextReading = (length) => length + 1 + (length >> 3);
