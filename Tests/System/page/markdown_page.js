// Functions that the tests of the Markdown renderer call in the page.

import { MarkdownRenderer, renderMarkdown } from "/markdown/renderer.js";

const WHITE_SPACE_ONLY = new Set(["BLOCKQUOTE", "DIV", "LI", "OL", "TABLE", "TBODY", "THEAD", "TR", "UL"]);
const INLINE = new Set(["A", "BR", "CODE", "DEL", "EM", "SPAN", "STRONG"]);

function rendered(text, options) {
  const container = document.createElement("div");
  renderMarkdown(container, text, options);
  return container;
}

/** All nodes, with the limits of text nodes. */
function nodesOf(node) {
  if (node.nodeType === Node.TEXT_NODE) return JSON.stringify(node.data);
  const attributes = Array.from(node.attributes, ({ name, value }) => ` ${name}=${JSON.stringify(value)}`);
  return `<${node.localName}${attributes.join("")}>${Array.from(node.childNodes, nodesOf).join(",")}</>`;
}

// Normal form, in which our nodes equal those of cmark's HTML. The differences are intended ones: attributes of safety, an image
// as a link, lists whose paragraphs only lose their margins when tight.

/** The nodes without the differences. */
function normal(node) {
  if (node.nodeType === Node.TEXT_NODE) return node.data.replace(/[&<>]/g, (character) => `&${character.codePointAt(0)};`);
  const children = () => Array.from(node.childNodes, normal).join("");
  switch (node.localName) {
  case "a": return `<a${address(node.getAttribute("href"), node)}>${children()}</a>`;
  case "img": return normalImage(node);
  case "ol": return `<ol start=${node.getAttribute("start") ?? 1}${tightness(node)}>${children()}</ol>`;
  case "ul": return `<ul${tightness(node)}>${children()}</ul>`;
  case "code": return `<code class="${node.className}">${children()}</code>`;
  default: return `<${node.localName}>${children()}</${node.localName}>`;
  }
}

function address(value, element) {
  const url = value === null || !URL.canParse(value) ? null : new URL(value);
  const isLink = url !== null && ["http:", "https:", "mailto:"].includes(url.protocol);
  const href = isLink ? ` href=${url.href.replaceAll("[", "%5B").replaceAll("]", "%5D")}` : "";
  return href + (element.title ? ` title=${JSON.stringify(element.title)}` : "");
}

function normalImage(image) {
  const text = image.alt;
  return image.closest("a") ? text : `<a${address(image.getAttribute("src"), image)}>${text || image.getAttribute("src")}</a>`;
}

const tightness = (list) => (list.dataset.tight ? " tight" : "");

/** Marks the tight lists of cmark's HTML, and gives their items paragraphs. */
function wrapTightItems(root) {
  for (const item of root.querySelectorAll("li")) {
    let paragraph = null;
    for (const child of [...item.childNodes]) {
      const isInline = child.nodeType === Node.TEXT_NODE ? child.data.trim() !== "" || paragraph !== null
        : INLINE.has(child.nodeName) || child.nodeName === "IMG";
      if (!isInline) {
        paragraph = null;
        continue;
      }
      if (paragraph === null) {
        paragraph = item.insertBefore(document.createElement("p"), child);
        item.parentNode.dataset.tight = "1";
      }
      paragraph.append(child);
    }
  }
  for (const paragraph of root.querySelectorAll("li > p")) {
    const first = paragraph.firstChild;
    if (first?.nodeType === Node.TEXT_NODE) first.data = first.data.replace(/^\n/, "");
    while (paragraph.lastChild?.nodeType === Node.TEXT_NODE && /\n$/.test(paragraph.lastChild.data)) {
      paragraph.lastChild.data = paragraph.lastChild.data.trimEnd();
      if (paragraph.lastChild.data === "") paragraph.lastChild.remove();
    }
  }
}

function markTightLists(root) {
  for (const list of root.querySelectorAll("ul:not(.loose), ol:not(.loose)")) {
    if (list.querySelector(":scope > li > p")) list.dataset.tight = "1";
  }
}

function dropWhiteSpace(root) {
  for (const element of [root, ...root.querySelectorAll("*")]) {
    if (!WHITE_SPACE_ONLY.has(element.nodeName)) continue;
    for (const child of [...element.childNodes]) {
      if (child.nodeType === Node.TEXT_NODE && child.data.trim() === "") child.remove();
    }
  }
}

/** The normal forms of our nodes of texts, and of the HTML that another program made of them. */
globalThis.normalForms = (pairs) => pairs.map(([text, html]) => {
  const ours = rendered(text);
  markTightLists(ours);
  const theirs = document.createElement("div");
  theirs.append(...new DOMParser().parseFromString(html, "text/html").body.childNodes);
  wrapTightItems(theirs);
  dropWhiteSpace(theirs);
  return [normal(ours), normal(theirs)];
});

globalThis.htmlOf = (text) => rendered(text).innerHTML;

/** The first of the texts whose nodes differ when it arrives in pieces, or nil. `cuts` are offsets in UTF-16 units. */
globalThis.firstDifference = (texts) => {
  for (const { text, cuts } of texts) {
    const container = document.createElement("div");
    const renderer = new MarkdownRenderer(container);
    let start = 0;
    for (const cut of [...cuts, text.length]) {
      renderer.append(text.slice(start, cut));
      start = cut;
    }
    renderer.finish();
    const [ours, whole] = [nodesOf(container), nodesOf(rendered(text))];
    if (ours !== whole) return { text, cuts, ours, whole };
  }
  return null;
};

/** Appends a text of a length, in pieces of a size. Returns the characters that were read, the nodes, and milliseconds. */
globalThis.workOf = (unit, length, size) => {
  const text = unit.repeat(Math.ceil(length / unit.length)).slice(0, length);
  const container = document.createElement("div");
  const work = { steps: 0 };
  const renderer = new MarkdownRenderer(container, { work });
  const start = performance.now();
  let longest = 0;
  for (let i = 0; i < length; i += size) {
    const before = performance.now();
    renderer.append(text.slice(i, i + size));
    longest = Math.max(longest, performance.now() - before);
  }
  renderer.finish();
  return { steps: work.steps, nodes: allNodes(container).length, total: performance.now() - start, longest };
};

function allNodes(container) {
  const walker = document.createTreeWalker(container);
  const nodes = [];
  while (walker.nextNode()) nodes.push(walker.currentNode);
  return nodes;
}

globalThis.brokenNodes = (text) => allNodes(rendered(text)).filter(({ data }) => data !== undefined && !data.isWellFormed()).length;

globalThis.depthOf = (text) => {
  const depth = (node) => 1 + Math.max(0, ...Array.from(node.childNodes, depth));
  return depth(rendered(text)) - 1;
};

/** The text that is shown after each piece, the last time after the end. */
globalThis.textAfterEach = (pieces) => {
  const container = document.createElement("div");
  const renderer = new MarkdownRenderer(container);
  return pieces.map((piece, index) => {
    renderer.append(piece);
    if (index === pieces.length - 1) renderer.finish();
    return container.textContent;
  });
};

/** The blocks that change although a later one exists. */
globalThis.touchedBlocks = (text, size) => {
  const container = document.createElement("div");
  const observer = new MutationObserver(() => {});
  observer.observe(container, { attributes: true, characterData: true, childList: true, subtree: true });
  const renderer = new MarkdownRenderer(container);
  const touched = [];
  for (let i = 0; i < text.length; i += size) {
    const last = container.lastChild;
    renderer.append(text.slice(i, i + size));
    for (const { target } of observer.takeRecords()) {
      const block = [...container.children].find((child) => child.contains(target));
      if (block && last && block.compareDocumentPosition(last) & Node.DOCUMENT_POSITION_FOLLOWING) touched.push(block.outerHTML);
    }
  }
  return touched;
};

globalThis.announcedCode = (text) => {
  const announced = [];
  rendered(text, { onCode: (pre, code) => announced.push([pre, code]) });
  return announced.map(([pre, code]) => [pre.nodeName, code()]);
};

// Hostile texts. What they show is part of the document, so that it could load something.

const NAMES = new Set(
  "A BLOCKQUOTE BR CODE DEL EM H1 H2 H3 H4 H5 H6 HR LI OL P PRE SPAN STRONG TABLE TBODY TD TH THEAD TR UL".split(" "));
const VALUES = {
  class: /^(?:language-[\w+#.-]+|align-(?:left|center|right)|image|box|latex|loose)$/,
  href: /^(?:https?:\/\/|mailto:)/,
  rel: /^noopener noreferrer nofollow$/,
  start: /^[0-9]{1,9}$/,
  target: /^_blank$/,
  title: /(?:)/,
};
const found = { hits: 0, violations: [], surprises: [], links: 0 };
globalThis.hit = () => { found.hits += 1; };
document.addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) => {
  found.violations.push(`${violatedDirective} ${blockedURI}`);
});

/** Elements and attributes that the renderer must not make. */
function surprisesIn(container) {
  return [...container.querySelectorAll("*")].filter((element) => !NAMES.has(element.nodeName)
    || Array.from(element.attributes).some(({ name, value }) => !Object.hasOwn(VALUES, name) || !VALUES[name].test(value)));
}

async function findAttacks(texts, show) {
  Object.assign(found, { hits: 0, violations: [], surprises: [], links: 0 });
  for (const text of texts) {
    const container = document.body.appendChild(document.createElement("div"));
    show(container, text);
    for (const element of container.querySelectorAll("a, [autofocus]")) {
      element.focus();
      element.dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));
    }
    found.links += container.querySelectorAll("a[href]").length;
    found.surprises.push(...surprisesIn(container).map((element) => element.outerHTML));
  }
  // Events of loading and of animation come before the answers of these.
  await Promise.all([
    fetch("/markdown/renderer.js"),
    new Promise((resolve) => { requestAnimationFrame(() => requestAnimationFrame(resolve)); }),
  ]);
  await new Promise((resolve) => { requestIdleCallback(resolve); });
  document.body.replaceChildren();
  return found;
}

globalThis.showWhole = (texts) => findAttacks(texts, renderMarkdown);

globalThis.showUnitByUnit = (texts) => findAttacks(texts, (container, text) => {
  const renderer = new MarkdownRenderer(container);
  for (let i = 0; i < text.length; i += 1) renderer.append(text[i]);
  renderer.finish();
});

globalThis.showAsHTML = (texts) => findAttacks(texts, (container, text) => { container.innerHTML = text; });

/** Does what the policy forbids. */
globalThis.violate = () => findAttacks(["<b>", "https://evil.example/a.png"], (container, text) => {
  if (text !== "<b>") return container.append(Object.assign(new Image(), { src: text }));
  try {
    container.innerHTML = text;
  } catch {
    // A Trusted Types policy makes it an exception.
  }
});

globalThis.isReady = true;
