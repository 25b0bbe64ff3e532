// Export and import of conversations as lines of JSON. A long file is sent in pieces, cut at line ends.

import { call } from "./api.js";
import { newName } from "./conversation.js";
import { strings } from "./strings.js";

/// Bytes of one piece, less than the server takes.
const pieceSize = 4 << 20;

/// Imports an export under a new name; returns the name.
export async function importFile(file) {
  const header = await file.slice(0, 4096).text().then((text) => JSON.parse(text.split("\n")[0])).catch(() => null);
  if (header?.chatterd !== "conversation") throw new Error(strings.notAnExport);
  const name = newName();
  for (let start = 0; start < file.size; ) {
    let end = Math.min(start + pieceSize, file.size);
    if (end < file.size) end = start + (await lastLineEnd(file.slice(start, end)));
    await call("POST", `conversations/${name}/import`, {
      body: file.slice(start, end), type: "application/x-ndjson", query: { continue: file.size > pieceSize ? 1 : null },
    });
    start = end;
  }
  return name;
}

/// The number of bytes up to the last line end. A line beyond the size of a piece is refused by the server anyway.
async function lastLineEnd(piece) {
  const bytes = new Uint8Array(await piece.arrayBuffer());
  return (bytes.lastIndexOf(10) + 1) || bytes.length;
}
