// Prompts on their way to the server: kept until the server has confirmed them, so that a reload or a lost network loses none.
// A prompt is sent again with the same Idempotency-Key and the same bytes, so it never counts twice.

import { APIError, call, pause, send } from "./api.js";
import { Emitter } from "./dom.js";
import { isOwner, names, read, whenChanged, write } from "./storage.js";
import { strings } from "./strings.js";

/// The server forgets an Idempotency-Key after a day, unless it is configured otherwise. Older prompts are not repeated.
const keptFor = 12 * 3600 * 1000;

/// The prompts of all conversations, `{key, conversation, body, system, text, images, after, time, error}` each. Those of one conversation are
/// sent one after the other, in the order in which they were written, also while another one is open.
///
/// Tells listeners `"sent"` with a prompt and its response, `"refused"` with a prompt, `"removed"` with one that another tab has settled, and
/// `"connection"` with a prompt and whether the server can be reached.
class Outbox extends Emitter {
  #prompts = [];
  /// By conversation, the promise of its last prompt.
  #chains = new Map();
  /// The prompts whose requests are under way.
  #sending = new Set();

  /// The prompts of a conversation without a confirmation, the oldest first.
  of(conversation) {
    return this.#prompts.filter((prompt) => prompt.conversation === conversation);
  }

  /// The number of all prompts without a confirmation, those of other tabs included.
  get count() {
    return new Set([...this.#prompts.map(({ key }) => `outbox.${key}`), ...names("outbox.")]).size;
  }

  /// Sends what an earlier page has kept. A prompt that the server has refused waits for its author.
  resume() {
    const kept = names("outbox.").map(read).filter(Boolean).sort((left, right) => left.time - right.time);
    for (const { refusal, ...prompt } of kept) {
      const last = JSON.parse(prompt.body).messages.at(-1);
      Object.assign(prompt, { text: last.content, images: last.images ?? [] });
      this.#prompts.push(prompt);
      if (refusal) prompt.error = new APIError(refusal.status, refusal);
      else if (Date.now() - prompt.time < keptFor) this.#queue(prompt);
      else prompt.error = new APIError(0, { error: strings.unconfirmed });
    }
    whenChanged("outbox.", (name, isKept) => {
      const prompt = this.#prompts.find(({ key }) => name === `outbox.${key}`);
      if (isKept || !prompt || this.#sending.has(prompt)) return;
      this.#prompts = this.#prompts.filter((other) => other !== prompt);
      this.emit("removed", prompt);
    });
  }

  /// Keeps a prompt, and sends it.
  add(prompt) {
    // Two prompts of one millisecond keep their order.
    prompt.time = Math.max(Date.now(), (this.#prompts.at(-1)?.time ?? 0) + 1);
    this.#prompts.push(prompt);
    this.#keep(prompt);
    this.#queue(prompt);
  }

  /// Sends a prompt again that the server refused.
  retry(prompt) {
    prompt.error = null;
    this.#keep(prompt);
    this.#queue(prompt);
  }

  /// Removes a prompt.
  remove(prompt) {
    this.#prompts = this.#prompts.filter((other) => other !== prompt);
    write(`outbox.${prompt.key}`, null);
  }

  /// Removes the prompts of a conversation that is deleted.
  forgetConversation(conversation) {
    for (const prompt of this.of(conversation)) this.remove(prompt);
  }

  /// The body has the text and the images.
  #keep({ key, conversation, body, system, after, time, error }) {
    const refusal = error ? { status: error.status, code: error.code, error: error.message } : undefined;
    write(`outbox.${key}`, { key, conversation, body, system, after, time, refusal });
  }

  #queue(prompt) {
    const before = this.#chains.get(prompt.conversation) ?? Promise.resolve();
    this.#chains.set(prompt.conversation, before.then(() => this.#send(prompt)));
  }

  async #send(prompt) {
    // It was removed, or stands behind one that was refused.
    if (prompt.error || !this.#prompts.includes(prompt)) return;
    this.#sending.add(prompt);
    try {
      if (prompt.system) await this.#persist(prompt, () => this.#create(prompt));
      const response = await this.#persist(prompt, () => this.#post(prompt));
      this.remove(prompt);
      this.emit("sent", prompt, response);
      // Where nobody shows the answer, the server finishes it by itself.
      if (!prompt.isShown) response.body.cancel().catch(() => {});
    } catch (error) {
      this.#refuse(prompt, error);
      // What was written after it must not come before it.
      for (const next of this.of(prompt.conversation)) {
        if (!next.error) this.#refuse(next, new APIError(0, { error: strings.behindRefused }));
      }
    } finally {
      this.#sending.delete(prompt);
    }
  }

  #refuse(prompt, error) {
    prompt.error = error;
    this.#keep(prompt);
    this.emit("refused", prompt);
  }

  async #post({ key, body }) {
    const response = await send("POST", "llmtools", { body, headers: { "Idempotency-Key": key } });
    // The answer of a network that wants a sign-in of its own.
    if (!response.headers.has("Location")) throw new APIError(0);
    return response;
  }

  /// Creates the conversation with a system prompt, unless it exists.
  async #create({ conversation, system }) {
    const messages = [{ role: "system", content: system }];
    await call("POST", "conversations", { body: { conversation, messages } }).catch((error) => {
      if (error.code !== "conversation_exists") throw error;
    });
  }

  /// Repeats a request until it is answered: the network may be lost, or the server be restarted.
  async #persist(prompt, request) {
    for (let attempt = 0; ; attempt += 1) {
      // Somebody else uses this browser now, and this page is being left: its prompts wait for their author.
      if (!isOwner()) return new Promise(() => {});
      try {
        const result = await request();
        if (attempt > 0) this.emit("connection", prompt, true);
        return result;
      } catch (error) {
        // The page asks for a credential, and sends the prompt afterwards.
        if (error.status === 401) return new Promise(() => {});
        if (!(error instanceof APIError) || !error.isLost || Date.now() - prompt.time > keptFor) throw error;
        this.emit("connection", prompt, false);
        await pause(attempt);
      }
    }
  }
}

export const outbox = new Outbox();
