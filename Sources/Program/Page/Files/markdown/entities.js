// Entities and backslash escapes.

const NAMES = {
  amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00A0", shy: "\u00AD", copy: "©", reg: "®", trade: "™", hellip: "…",
  mdash: "—", ndash: "–", lsquo: "‘", rsquo: "’", sbquo: "‚", ldquo: "“", rdquo: "”", bdquo: "„", laquo: "«", raquo: "»", bull: "•",
  middot: "·", times: "×", divide: "÷", minus: "−", plusmn: "±", deg: "°", micro: "µ", sect: "§", para: "¶", euro: "€", pound: "£",
  yen: "¥", cent: "¢", frac12: "½", frac14: "¼", frac34: "¾", sup2: "²", sup3: "³", larr: "←", rarr: "→", uarr: "↑", darr: "↓",
  harr: "↔", rArr: "⇒", hArr: "⇔", le: "≤", ge: "≥", ne: "≠", asymp: "≈", equiv: "≡", infin: "∞", radic: "√", sum: "∑", prod: "∏",
  int: "∫", part: "∂", isin: "∈", forall: "∀", exist: "∃", empty: "∅", alpha: "α", beta: "β", gamma: "γ", delta: "δ", epsilon: "ε",
  lambda: "λ", mu: "μ", pi: "π", sigma: "σ", omega: "ω", Delta: "Δ", Omega: "Ω", auml: "ä", ouml: "ö", uuml: "ü", Auml: "Ä", Ouml: "Ö",
  Uuml: "Ü", szlig: "ß", eacute: "é", egrave: "è", agrave: "à", ccedil: "ç", ntilde: "ñ",
};
const ENTITY = /&(?:#[xX]([0-9a-fA-F]{1,6})|#([0-9]{1,7})|([a-zA-Z][a-zA-Z0-9]{1,31}));/y;
const ESCAPED = /\\([!-/:-@[-`{-~])|&[#\w]{2,32};/g;

/** Reads an entity at an offset. The result is nil if there is none, or one with an unknown name. */
export function entityAt(text, offset) {
  ENTITY.lastIndex = offset;
  const match = ENTITY.exec(text);
  if (match === null) return null;
  const [source, hexadecimal, decimal, name] = match;
  const value = name ? (Object.hasOwn(NAMES, name) ? NAMES[name] : null) : character(parseInt(hexadecimal ?? decimal, hexadecimal ? 16 : 10));
  return value === null ? null : { value, end: offset + source.length };
}

function character(code) {
  const isScalar = code > 0 && code <= 0x10FFFF && !(code >= 0xD800 && code <= 0xDFFF);
  return isScalar ? String.fromCodePoint(code) : "\uFFFD";
}

/** Replaces the escapes and entities of an address, a title or the name of a language. */
export function unescapeText(text) {
  return text.replace(ESCAPED, (source, escaped) => escaped ?? entityAt(source, 0)?.value ?? source);
}
