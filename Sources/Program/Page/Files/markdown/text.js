// Ends of strings.

/** Says whether the text ends with the first half of a surrogate pair. */
export const endsInsidePair = (text) => /[\uD800-\uDBFF]/.test(text.slice(-1));

/** The length of the first `limit` units of a text, or one less where they would end inside a surrogate pair. */
export function lengthOfHead(text, limit) {
  if (text.length <= limit) return text.length;
  return endsInsidePair(text.slice(0, limit)) ? limit - 1 : limit;
}

/** The text without these characters at its end. A regular expression would take quadratic time. */
export function withoutEnd(text, characters) {
  let end = text.length;
  while (end > 0 && characters.includes(text[end - 1])) end -= 1;
  return text.slice(0, end);
}
