// One open conversation: its messages with their branches, its replies, and prompts on their way. No DOM.

import { APIError, call, nameSegment, pause, send, session } from "./api.js";
import { Emitter } from "./dom.js";
import { follow } from "./events.js";
import { forget, keep, keptPrompts } from "./outbox.js";
import { Reply } from "./reply.js";
import { strings } from "./strings.js";

const pageSize = 100;
/// The server forgets an Idempotency-Key after a day, unless it is configured otherwise. Older prompts are not repeated.
const keptFor = 12 * 3600 * 1000;

/// A name for a new conversation: 12 lower-case letters and digits.
export function newName() {
  const letters = "abcdefghijklmnopqrstuvwxyz0123456789";
  return Array.from(crypto.getRandomValues(new Uint32Array(12)), (number) => letters[number % letters.length]).join("");
}

/// The id of the reply that a response streams. A proxy may have changed the beginning of the path.
function replyID(response) {
  return /replies\/([^/?]+)/.exec(response.headers.get("Location"))[1];
}

/// Tells listeners `"messages"` when the path changes, `"ended"` with a reply that this page saw end, `"refused"` with a prompt, `"list"` when titles may have
/// changed, `"deleted"`, and `"connection"`.
export class Conversation extends Emitter {
  /// Whether the server has it.
  exists = false;
  isConnected = true;
  moreBefore = false;
  /// Prompts without a confirmation: `{key, text, images, error}`.
  pending = [];
  #messages = new Map();
  #order = [];
  #tip = 0;
  /// The numbers of the messages that follow each message; null after a change.
  #followers = null;
  /// The `parent` of the next prompt where the shown branch is not the one that the server would continue.
  #parent = null;
  #replies = new Map();
  #feed = null;
  #feedPosition = null;
  #controller = new AbortController();
  #syncing = null;
  #heads = 0;

  constructor(name) {
    super();
    this.name = name;
  }

  get path() {
    return `conversations/${nameSegment(this.name)}`;
  }

  /// The messages of the branch that the next prompt follows, the oldest first, as far as they are loaded.
  branch() {
    const path = [];
    for (let seq = this.#tip; this.#messages.has(seq); seq = this.#predecessor(seq)) path.push(this.#messages.get(seq));
    return path.reverse();
  }

  /// The messages that follow the same one as this message and are of its kind: other answers, or edited prompts.
  alternatives(message) {
    this.#followers ??= Map.groupBy(this.#order, (seq) => this.#predecessor(seq));
    return this.#followers.get(this.#predecessor(message.seq)).map((seq) => this.#messages.get(seq))
      .filter((other) => Boolean(other.id) === Boolean(message.id));
  }

  /// The messages of the branch and the prompts on their way. A prompt that begins a branch stands where it will.
  items() {
    const branch = this.branch();
    const cut = this.pending.find((prompt) => prompt.after !== undefined)?.after;
    return [...(cut === undefined ? branch : branch.filter((message) => message.seq <= cut)), ...this.pending];
  }

  reply(message) {
    let reply = this.#replies.get(message.id);
    if (!reply) {
      reply = new Reply(message.id, message.model);
      this.#adopt(reply);
      if (message.state === "streaming") reply.read();
      else reply.restore(message);
    }
    return reply;
  }

  /// The replies of the branch that are being generated.
  running() {
    return this.branch().slice(-64).filter((message) => message.id).map((message) => this.reply(message)).filter((reply) => !reply.isOver);
  }

  // Loading

  /// Loads the end of the conversation, back to message `seq` if that is given, and sends what is kept. A new one is not asked for.
  async open(seq = null, isNew = false) {
    try {
      if (!isNew) await this.#persist(() => this.#load({ limit: pageSize }));
      while (this.moreBefore && (!this.#messages.has(this.#tip) || (seq !== null && this.#order[0] > seq))) await this.loadEarlier();
      this.exists = !isNew;
    } catch (error) {
      if (error.code !== "conversation_not_found") throw error;
    }
    for (const kept of keptPrompts(this.name)) {
      if (Date.now() - kept.time < keptFor) this.#post(kept);
      else this.pending.push({ ...kept, error: new APIError(0, { error: strings.unconfirmed }) });
    }
    this.emit("messages");
    this.follow();
  }

  async loadEarlier() {
    if (!this.moreBefore) return;
    await this.#load({ limit: pageSize * 2, before: this.#order[0] });
    this.emit("messages");
  }

  async #load(query) {
    const page = await call("GET", this.path, { query, signal: this.#controller.signal });
    if (query.after === undefined) this.moreBefore = page.more_before;
    for (const message of page.messages) {
      this.#messages.set(message.seq, message);
      if (message.active && message.seq > this.#tip) this.#tip = message.seq;
    }
    this.#order = [...this.#messages.keys()].sort((left, right) => left - right);
    this.#followers = null;
    return page;
  }

  #predecessor(seq) {
    const message = this.#messages.get(seq);
    if (message.after !== undefined) return message.after;
    let [low, high] = [0, this.#order.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#order[middle] < seq) low = middle + 1;
      else high = middle;
    }
    return this.#order[low - 1] ?? 0;
  }

  /// Reads what was added since the last message that is known.
  sync() {
    const run = async () => {
      for (let more = true; more; ) more = (await this.#load({ limit: 200, after: this.#order.at(-1) ?? 0 })).more_after;
      this.exists = true;
      this.emit("messages");
    };
    this.#syncing = (this.#syncing ?? Promise.resolve()).catch(() => {}).then(run);
    return this.#syncing;
  }

  async #reload() {
    this.#messages.clear();
    [this.#order, this.#tip] = [[], 0];
    await this.#load({ limit: pageSize });
    while (this.moreBefore && !this.#messages.has(this.#tip)) await this.loadEarlier();
    this.emit("messages");
  }

  // The feed

  /// Follows the changes that other tabs, devices and people make.
  follow() {
    if (this.#feed || !this.exists || this.#controller.signal.aborted) return;
    this.#feed = new AbortController();
    const signal = this.#feed.signal;
    follow(`${this.path}/events`, {
      signal, position: () => this.#feedPosition,
      onEvent: (event) => this.#take(event),
      onState: (isConnected) => {
        this.isConnected = isConnected;
        this.emit("connection");
      },
    }).catch((error) => {
      if (error.code === "conversation_not_found") this.emit("deleted");
      this.#feed = null;
    });
  }

  /// Ends the feed until the page is visible again: a browser has few connections to one server.
  rest() {
    this.#feed?.abort();
    this.#feed = null;
  }

  #take(event) {
    const data = JSON.parse(event.data);
    if (event.name === "error") return false;
    if (event.id !== undefined) this.#feedPosition = event.id;
    if (event.name === "deleted") {
      this.emit("deleted");
      return true;
    }
    if (event.name === "choice") this.#choose(data.id);
    else if (event.name === "reset") this.#reload().catch(() => {});
    else if (event.name !== "end" && event.name !== "settings" && (data.last ?? data.seq) > (this.#order.at(-1) ?? 0)) this.#catchUp();
    if (event.name !== "conversation") this.emit("list");
    return false;
  }

  /// A prompt of this page is shown once: while its confirmation is awaited, changes wait too.
  #catchUp() {
    if (this.#heads === 0) this.sync().catch(() => {});
  }

  #choose(id) {
    const chosen = this.#order.map((seq) => this.#messages.get(seq)).find((message) => message.id === id);
    if (!chosen) return this.#reload().catch(() => {});
    [this.#tip, this.#parent] = [chosen.seq, null];
    this.emit("messages");
  }

  // Changes

  /// Sends a prompt.
  ///
  /// - `request` has the members of the request beside the name of the conversation; `parent` begins a branch.
  /// - `shown` is what the page shows meanwhile: `{text, images, after}`.
  /// - `system` is the system prompt of a new conversation.
  ask(request, shown, system) {
    const body = JSON.stringify({
      ...(session.app ? { appID: session.app } : {}), conversation: this.name, stream: true, queue_events: true, on_disconnect: "finish",
      on_interrupt: "regenerate", ...(this.#parent ? { parent: this.#parent } : {}), ...request,
    });
    this.#parent = null;
    const prompt = { key: crypto.randomUUID(), conversation: this.name, body, system, ...shown };
    keep(prompt);
    return this.#post(prompt);
  }

  async #post(prompt) {
    this.pending.push(prompt);
    this.emit("messages");
    this.#heads += 1;
    try {
      if (prompt.system) await this.#persist(() => this.#create(prompt.system));
      const response = await this.#persist(() =>
        send("POST", "llmchat", { body: prompt.body, headers: { "Idempotency-Key": prompt.key } }));
      const id = replyID(response);
      const known = this.#replies.get(id);
      if (known) response.body.cancel();
      else this.#begin(id, response);
      forget(prompt);
      await this.#persist(() => this.sync());
      this.pending = this.pending.filter((other) => other !== prompt);
    } catch (error) {
      if (error.name === "AbortError") return;
      prompt.error = error;
      this.emit("refused", prompt);
    } finally {
      this.#heads -= 1;
    }
    this.emit("messages");
    this.emit("list");
    if (this.#heads === 0 && this.exists) this.sync().catch(() => {});
    this.follow();
  }

  /// Creates the conversation with a system prompt, unless it exists.
  async #create(system) {
    const messages = [{ role: "system", content: system }];
    await call("POST", "conversations", { body: { conversation: this.name, messages } }).catch((error) => {
      if (error.code !== "conversation_exists") throw error;
    });
  }

  /// Sends a prompt again that the server refused.
  retry(prompt) {
    this.pending = this.pending.filter((other) => other !== prompt);
    prompt.error = null;
    return this.#post(prompt);
  }

  /// Removes a prompt that the server refused; its text goes back to the composer.
  drop(prompt) {
    forget(prompt);
    this.pending = this.pending.filter((other) => other !== prompt);
    this.emit("messages");
  }

  /// Repeats a request until it is answered: the network may be lost, or the server be restarted.
  async #persist(request) {
    for (let attempt = 0; ; attempt += 1) {
      try {
        const result = await request();
        if (attempt > 0) this.#setConnected(true);
        return result;
      } catch (error) {
        if (!(error instanceof APIError) || !error.isTemporary || error.code === "overloaded" || attempt > 200) throw error;
        this.#setConnected(false);
        await pause(attempt, this.#controller.signal);
      }
    }
  }

  #setConnected(isConnected) {
    this.isConnected = isConnected;
    this.emit("connection");
  }

  #begin(id, response) {
    const reply = new Reply(id, null);
    this.#adopt(reply);
    reply.read(response);
  }

  #adopt(reply) {
    this.#replies.set(reply.id, reply);
    let wasOver = reply.isOver;
    reply.listen((kind) => {
      if (kind !== "state" || wasOver === reply.isOver) return;
      wasOver = reply.isOver;
      // A reply that is over when it is first shown did not end here.
      if (wasOver) this.emit("ended", reply);
    });
  }

  /// Asks for another answer to the prompt of a reply.
  async regenerate(id, model) {
    const response = await send("POST", `replies/${id}/regenerate`, {
      body: { model, on_disconnect: "finish", on_interrupt: "regenerate", queue_events: true },
    });
    this.#begin(replyID(response), response);
    await this.sync();
  }

  /// Continues from the newest complete reply at or below a message.
  async choose(message) {
    const below = new Set([message.seq]);
    let last = message.id ? message : null;
    for (const seq of this.#order) {
      if (seq <= message.seq || !below.has(this.#predecessor(seq))) continue;
      below.add(seq);
      if (this.#messages.get(seq).id) last = this.#messages.get(seq);
    }
    if (!last) return;
    const isComplete = this.reply(last).state === "complete";
    if (isComplete) await call("POST", `replies/${last.id}/choose`);
    this.#choose(last.id);
    // No prompt can follow a reply that is not complete: the next one follows what is complete before it.
    if (!isComplete) this.#parent = this.parent(last);
  }

  /// The last complete reply before a message, for `parent`: its id, or `start`. No prompt can follow another one.
  parent(message) {
    return this.branch().findLast((other) => other.seq < message.seq && other.id && this.reply(other).state === "complete")?.id ?? "start";
  }

  /// The prompt of a reply.
  promptOf(message) {
    const branch = this.branch();
    return branch.slice(0, branch.indexOf(message)).findLast((other) => other.role === "user");
  }

  close() {
    this.#controller.abort();
    this.rest();
    for (const reply of this.#replies.values()) reply.release();
  }
}
