// Prompts on their way to the server: kept until the server has confirmed them, so that a reload or a lost network loses none.
// A prompt is sent again with the same Idempotency-Key and the same bytes, so it never counts twice.

import { APIError, call, pause, send } from "./api.js";
import { Emitter } from "./dom.js";
import { names, read, write } from "./storage.js";
import { strings } from "./strings.js";

/// The server forgets an Idempotency-Key after a day, unless it is configured otherwise. Older prompts are not repeated.
const keptFor = 12 * 3600 * 1000;

/// The prompts of all conversations, `{key, conversation, body, system, text, images, after, time, error}` each. Those of one conversation are
/// sent one after the other, in the order in which they were written, also while another one is open.
///
/// Tells listeners `"sent"` with a prompt and its response, `"refused"` with a prompt, and `"connection"` with a prompt and whether the server
/// can be reached.
class Outbox extends Emitter {
  #prompts = [];
  /// By conversation, the promise of its last prompt.
  #chains = new Map();

  /// The prompts of a conversation without a confirmation, the oldest first.
  of(conversation) {
    return this.#prompts.filter((prompt) => prompt.conversation === conversation);
  }

  /// The number of all prompts without a confirmation.
  get count() {
    return this.#prompts.length;
  }

  /// Sends what an earlier page has kept. A prompt that the server has refused waits for its author.
  resume() {
    const kept = names("outbox.").map(read).filter(Boolean).sort((left, right) => left.time - right.time);
    for (const { refusal, ...prompt } of kept) {
      this.#prompts.push(prompt);
      if (refusal) prompt.error = new APIError(refusal.status, refusal);
      else if (Date.now() - prompt.time < keptFor) this.#queue(prompt);
      else prompt.error = new APIError(0, { error: strings.unconfirmed });
    }
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

  #keep({ error, ...prompt }) {
    const refusal = error && { status: error.status, code: error.code, error: error.message };
    write(`outbox.${prompt.key}`, { ...prompt, ...(refusal ? { refusal } : {}) });
  }

  #queue(prompt) {
    const before = this.#chains.get(prompt.conversation) ?? Promise.resolve();
    this.#chains.set(prompt.conversation, before.then(() => this.#send(prompt)));
  }

  async #send(prompt) {
    try {
      if (prompt.system) await this.#persist(prompt, () => this.#create(prompt));
      const response = await this.#persist(prompt, () =>
        send("POST", "llmchat", { body: prompt.body, headers: { "Idempotency-Key": prompt.key } }));
      this.remove(prompt);
      this.emit("sent", prompt, response);
      // Where nobody shows the answer, the server finishes it by itself.
      if (!prompt.isShown) response.body.cancel();
    } catch (error) {
      prompt.error = error;
      this.#keep(prompt);
      this.emit("refused", prompt);
    }
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
      try {
        const result = await request();
        if (attempt > 0) this.emit("connection", prompt, true);
        return result;
      } catch (error) {
        if (!(error instanceof APIError) || !error.isTemporary || error.code === "overloaded" || attempt > 200) throw error;
        this.emit("connection", prompt, false);
        await pause(attempt);
      }
    }
  }
}

export const outbox = new Outbox();
