// One open conversation: its messages with their branches, its replies, and prompts on their way. No DOM.

import { APIError, call, nameSegment, pause, send, session } from "./api.js";
import { Emitter } from "./dom.js";
import { follow } from "./events.js";
import { outbox } from "./outbox.js";
import { Reply } from "./reply.js";

const pageSize = 100;

/// A name for a new conversation: 12 lower-case letters and digits.
export function newName() {
  const letters = "abcdefghijklmnopqrstuvwxyz0123456789";
  return Array.from(crypto.getRandomValues(new Uint32Array(12)), (number) => letters[number % letters.length]).join("");
}

/// The id of the reply that a response streams. A proxy may have changed the beginning of the path.
function replyID(response) {
  return /replies\/([^/?]+)/.exec(response.headers.get("Location"))[1];
}

/// Tells listeners `"messages"` when the path changes, `"settings"` when the title or the archiving may have changed, `"ended"` with a reply
/// that this page saw end, `"refused"` with a prompt, `"list"` when the list may have changed, `"deleted"`, and `"connection"`.
export class Conversation extends Emitter {
  /// Whether the server has it.
  exists = false;
  /// Whether the server was asked for it, and did not have it.
  isMissing = false;
  /// Whether the server had it, and it was deleted elsewhere.
  isDeleted = false;
  /// The title that it was given, null for none, and whether it is archived; undefined until its feed or a change tells.
  title;
  archived;
  isConnected = true;
  moreBefore = false;
  /// Confirmed prompts whose messages are not loaded yet.
  #arriving = [];
  #messages = new Map();
  /// The first prompt, if that is not loaded otherwise.
  #firstPrompt = null;
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
  /// The first load.
  #opening = Promise.resolve();
  #endListening;

  constructor(name) {
    super();
    this.name = name;
    this.#endListening = outbox.listen((kind, prompt, detail) => {
      if (prompt.conversation === name) this.#promptChanged(kind, prompt, detail);
    });
  }

  /// Prompts whose messages are not loaded yet: `{text, images, after, error}`.
  get pending() {
    return [...this.#arriving, ...outbox.of(this.name)];
  }

  /// Whether the confirmation of a prompt is awaited.
  get #isSending() {
    return this.pending.some((prompt) => !prompt.error);
  }

  get path() {
    return `conversations/${nameSegment(this.name)}`;
  }

  /// The first words of a person, which stand for a missing title; undefined if they are not known.
  get firstWords() {
    const first = this.moreBefore ? this.#firstPrompt : this.items().find((item) => item.role === "user" || item.text !== undefined);
    return (first?.content ?? first?.text)?.slice(0, 80);
  }

  /// The messages of the branch that the next prompt follows, the oldest first, as far as they are loaded.
  branch() {
    const path = [];
    for (let seq = this.#tip; this.#messages.has(seq); seq = this.#predecessor(seq)) path.push(this.#messages.get(seq));
    return path.reverse();
  }

  /// The messages that follow the same one as this message and are of its kind: other answers, or edited prompts.
  alternatives(message) {
    this.#followers ??= this.#findFollowers();
    return this.#followers.get(this.#predecessor(message.seq)).map((seq) => this.#messages.get(seq))
      .filter((other) => Boolean(other.id) === Boolean(message.id));
  }

  /// Safari has no `Map.groupBy` before 17.4.
  #findFollowers() {
    const followers = new Map();
    for (const seq of this.#order) {
      const before = this.#predecessor(seq);
      if (!followers.has(before)) followers.set(before, []);
      followers.get(before).push(seq);
    }
    return followers;
  }

  /// The messages of the branch and the prompts on their way. A prompt that begins a branch stands where it will.
  items() {
    const [branch, pending] = [this.branch(), this.pending];
    const cut = pending.find((prompt) => !prompt.error && prompt.after !== undefined)?.after;
    return [...(cut === undefined ? branch : branch.filter((message) => message.seq <= cut)), ...pending];
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

  /// Loads the end of the conversation, back to message `seq` if that is given. A new one is not asked for.
  async open(seq = null, isNew = false) {
    if (!isNew) await (this.#opening = this.#loadEnd(seq));
    this.emit("messages");
    this.follow();
  }

  async #loadEnd(seq) {
    try {
      await this.#persist(() => this.#load({ limit: pageSize }));
      while (this.moreBefore && (!this.#messages.has(this.#tip) || (seq !== null && this.#order[0] > seq))) await this.#loadBefore();
      this.exists = true;
    } catch (error) {
      if (error.code !== "conversation_not_found") throw error;
      this.isMissing = true;
    }
  }

  async loadEarlier() {
    if (!this.moreBefore) return;
    await this.#loadBefore();
    this.emit("messages");
  }

  /// Loads the page before. Listeners are told when all pages are there that a caller needs: each change costs time for all messages.
  #loadBefore() {
    return this.#load({ limit: pageSize * 2, before: this.#order[0] });
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

  async #loadFirstPrompt() {
    const { messages } = await call("GET", this.path, { query: { limit: 32, after: 0 }, signal: this.#controller.signal });
    this.#firstPrompt = messages.find((message) => message.role === "user");
    this.emit("settings");
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
      // What is added follows what is loaded first.
      await this.#opening.catch(() => {});
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
    while (this.moreBefore && !this.#messages.has(this.#tip)) await this.#loadBefore();
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
      if (error.code === "conversation_not_found") this.#deleted();
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
      this.#deleted();
      return true;
    }
    if (data.title !== undefined) this.takeSettings(data);
    if (event.name === "choice") this.#choose(data.id);
    else if (event.name === "reset") this.#reload().catch(() => {});
    else if (event.name !== "end" && event.name !== "settings" && (data.last ?? data.seq) > (this.#order.at(-1) ?? 0)) this.#catchUp();
    if (event.name !== "conversation") this.emit("list");
    return false;
  }

  /// Takes the title and the archiving from the feed, or from the answer to a change.
  takeSettings({ title, archived }) {
    Object.assign(this, { title, archived });
    if (!title && this.moreBefore && !this.#firstPrompt) this.#loadFirstPrompt().catch(() => {});
    this.emit("settings");
  }

  #deleted() {
    this.isDeleted = true;
    this.emit("deleted");
  }

  /// A prompt of this page is shown once: while its confirmation is awaited, changes wait too.
  #catchUp() {
    if (!this.#isSending) this.sync().catch(() => {});
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
      ...(session.app ? { appID: session.app } : {}), conversation: this.name, stream: true, queue_events: true, step_events: true,
      on_disconnect: "finish",
      on_interrupt: "regenerate", ...(this.#parent ? { parent: this.#parent } : {}), ...request,
    });
    this.#parent = null;
    // A page of plain http has no crypto.randomUUID.
    outbox.add({ key: newName() + newName(), conversation: this.name, body, system, ...shown });
    this.emit("messages");
  }

  async #promptChanged(kind, prompt, detail) {
    if (kind === "connection") this.#setConnected(detail);
    else if (kind === "sent") await this.#arrived(prompt, detail);
    else if (kind === "refused") this.emit("refused", prompt);
    if (kind === "connection") return;
    this.emit("messages");
    this.emit("list");
    if (!this.#isSending && this.exists) this.sync().catch(() => {});
    this.follow();
  }

  /// Shows a prompt as on its way until its message is loaded.
  async #arrived(prompt, response) {
    this.#arriving.push(prompt);
    const id = replyID(response);
    prompt.isShown = !this.#replies.has(id);
    if (prompt.isShown) this.#begin(id, response);
    // If the conversation cannot be read now, its feed brings the message.
    this.exists = true;
    await this.#persist(() => this.sync()).catch(() => {});
    this.#arriving = this.#arriving.filter((other) => other !== prompt);
  }

  /// Sends a prompt again that the server refused.
  retry(prompt) {
    outbox.retry(prompt);
    this.emit("messages");
  }

  /// Removes a prompt that the server refused; its text goes back to the composer.
  drop(prompt) {
    outbox.remove(prompt);
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
      body: { model, on_disconnect: "finish", on_interrupt: "regenerate", queue_events: true, step_events: true },
    });
    this.#begin(replyID(response), response);
    await this.sync();
  }

  /// Continues from the newest reply at or below a message.
  async choose(message) {
    const below = new Set([message.seq]);
    let last = message.id ? message : null;
    for (const seq of this.#order) {
      if (seq <= message.seq || !below.has(this.#predecessor(seq))) continue;
      below.add(seq);
      if (this.#messages.get(seq).id) last = this.#messages.get(seq);
    }
    if (!last) return;
    const { isReplayed } = this.reply(last);
    if (isReplayed) await call("POST", `replies/${last.id}/choose`);
    this.#choose(last.id);
    // No prompt can follow a reply without an answer: the next one follows what is before it.
    if (!isReplayed) this.#parent = this.parent(last);
  }

  /// The last reply with an answer before a message, for `parent`: its id, or `start`. No prompt can follow another one.
  parent(message) {
    return this.branch().findLast((other) => other.seq < message.seq && other.id && this.reply(other).isReplayed)?.id ?? "start";
  }

  close() {
    this.#endListening();
    this.#controller.abort();
    this.rest();
    for (const reply of this.#replies.values()) reply.release();
  }
}
