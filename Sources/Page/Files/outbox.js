// Prompts on their way to the server: kept until the server has confirmed them, so that a reload or a lost network loses none.
// A prompt is sent again with the same Idempotency-Key and the same bytes, so it never counts twice.

const prefix = "chatterd.outbox.";

/// The kept prompts of a conversation, the oldest first.
export function keptPrompts(conversation) {
  return Object.keys(localStorage).filter((name) => name.startsWith(prefix)).map((name) => JSON.parse(localStorage.getItem(name)))
    .filter((kept) => kept.conversation === conversation).sort((left, right) => left.time - right.time);
}

export function keep(prompt) {
  try {
    localStorage.setItem(prefix + prompt.key, JSON.stringify({ ...prompt, time: Date.now() }));
  } catch {
    // The storage of the browser is full: the prompt is only in memory.
  }
}

export function forget(prompt) {
  localStorage.removeItem(prefix + prompt.key);
}
