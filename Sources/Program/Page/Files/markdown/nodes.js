// The only module that creates nodes: fixed names of elements and attributes, and text that is never parsed.

import { TEXT_NODE_LIMIT } from "./limits.js";
import { lengthOfHead } from "./text.js";

const ELEMENTS = new Set(
  "a blockquote br code del em h1 h2 h3 h4 h5 h6 hr li ol p pre span strong table tbody td th thead tr ul".split(" "));
const ATTRIBUTES = new Set(["class", "href", "rel", "start", "target", "title"]);

export function appendElement(parent, name, attributes = {}) {
  if (!ELEMENTS.has(name)) throw new TypeError(`no such element: ${name}`);
  const element = parent.ownerDocument.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) {
    if (!ATTRIBUTES.has(attribute)) throw new TypeError(`no such attribute: ${attribute}`);
    element.setAttribute(attribute, value);
  }
  return parent.appendChild(element);
}

/** Appends text. It fills the last text node first, except `kept`, so the nodes do not depend on the pieces in which text arrives. */
export function appendText(parent, text, kept = null) {
  let node = parent.lastChild;
  if (node === kept || node?.nodeType !== 3) node = null;
  while (text !== "") {
    const length = node === null ? 0 : lengthOfHead(text, TEXT_NODE_LIMIT - node.length);
    if (length === 0) node = parent.appendChild(parent.ownerDocument.createTextNode(""));
    else node.appendData(text.slice(0, length));
    text = text.slice(length);
  }
}
