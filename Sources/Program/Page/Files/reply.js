// One reply: its text so far, read from its stream over any number of connections.

import { call, send } from "./api.js";
import { Emitter } from "./dom.js";
import { follow } from "./events.js";
import { strings } from "./strings.js";

/// The calls in the stored messages of steps, as events of steps have them.
function storedSteps(messages = []) {
  const steps = new Map();
  let [round, index, calls] = [-1, 0, []];
  for (const message of messages) {
    if (message.role !== "tool") {
      [round, index, calls] = [round + 1, 0, message.tool_calls ?? []];
    } else {
      const call = calls[index]?.function;
      steps.set(`${round}.${index}`, {
        round, index, name: message.tool_name ?? call?.name, arguments: call?.arguments, state: message.state, result: message.content,
      });
      index += 1;
    }
  }
  return steps;
}

/// Tells listeners `("text" | "thinking", piece)`, `"reset"` when all text is dropped, and `"state"` for everything else.
export class Reply extends Emitter {
  text = "";
  thinking = "";
  toolCalls = [];
  /// The calls of tools of the server by their place.
  steps = new Map();
  /// `streaming`, `complete`, `failed`, `cancelled` or `interrupted`.
  state = "streaming";
  error = null;
  doneReason = null;
  counts = {};
  /// The position in the queue of a model server, while there is one.
  queue = null;
  isConnected = true;
  #position = null;
  #began = null;
  /// Whether all text comes as it is written. What was written before arrives at once, and says nothing about the speed.
  #isLive = false;
  #controller = null;
  /// Whether the end is not known, as reading has failed for good.
  #isUnread = false;

  constructor(id, model) {
    super();
    this.id = id;
    this.model = model;
  }

  get isOver() {
    return this.state !== "streaming";
  }

  /// Whether the model gets the answer with the next prompts: it is complete, or ended early with a text or steps.
  get isReplayed() {
    if (this.state === "complete") return true;
    const isAnswer = this.steps.size > 0 || /[^\u0000-\u0020]/.test(this.text);
    return this.isOver && !this.#isUnread && isAnswer && this.toolCalls.length === 0;
  }

  /// The tokens of a second, if they are known.
  get speed() {
    return this.counts.speed ?? null;
  }

  /// Takes the stored state of a reply that is over, from a message of the conversation.
  restore(message) {
    this.state = message.state;
    this.text = message.content ?? "";
    this.thinking = message.thinking ?? "";
    this.toolCalls = message.tool_calls ?? [];
    if (message.steps) this.steps = storedSteps(message.steps);
    this.doneReason = message.done_reason ?? null;
    this.counts = { prompt: message.prompt_eval_count, answer: message.eval_count };
    if (message.error) this.error = { text: message.error, code: message.code, retryable: message.retryable };
  }

  /// Reads the reply to its end; `first` is the response to its prompt, if that is at hand.
  async read(first) {
    if (this.#controller || this.isOver) return;
    this.#controller = new AbortController();
    this.#isLive = Boolean(first);
    const path = `replies/${this.id}`;
    try {
      await follow(path, {
        first, signal: this.#controller.signal, headers: { "Queue-Events": "1", "Step-Events": "1", Accept: "text/event-stream" },
        position: () => this.#position,
        onEvent: (event) => this.#take(event),
        onState: (isConnected) => this.#change({ isConnected }),
      });
      if (!this.isOver && !this.#controller.signal.aborted) await this.#load(path);
    } catch (error) {
      this.#isUnread = true;
      this.#change({ state: "failed", error: { text: error.message, code: error.code, retryable: true } });
    } finally {
      this.#controller = null;
    }
  }

  /// Stops reading, not the answer.
  release() {
    this.#controller?.abort();
  }

  /// Ends the answer; its stream brings the end.
  async stop() {
    const state = await call("DELETE", `replies/${this.id}`);
    if (!this.#controller && state.state !== "streaming") this.#change({ state: state.state });
  }

  /// Whether a call waits for an approval.
  get isAsking() {
    return !this.isOver && [...this.steps.values()].some((step) => step.state === "asked");
  }

  /// Approves or refuses a call; its stream brings the new state.
  async answer({ round, index }, approve) {
    await call("POST", `replies/${this.id}/approvals`, { body: { round, index, approve } });
  }

  #change(members) {
    Object.assign(this, members);
    this.emit("state");
  }

  async #load(path) {
    const stored = await (await send("GET", path, { headers: { Accept: "application/json" } })).json();
    this.restore({ ...stored, ...stored.message });
    this.emit("reset");
    this.emit("state");
  }

  /// Applies one event; returns whether it is the last one.
  #take(event) {
    const line = JSON.parse(event.data);
    if (event.name === "error" && event.id === undefined && line.code !== "conversation_replaced") return false;
    if (event.id !== undefined) this.#position = event.id;
    if (event.name === "queue") {
      this.#change({ queue: line.queue });
      return false;
    }
    if (event.name === "step") {
      this.steps.set(`${line.round}.${line.index}`, line);
      this.emit("step", line);
      this.emit("state");
      return false;
    }
    if (event.name === "reset") {
      [this.text, this.thinking, this.toolCalls, this.#began] = ["", "", [], null];
      this.emit("reset");
      return false;
    }
    if (event.name === "error") {
      const state = line.code === "interrupted" ? "interrupted" : "failed";
      this.#change({ state, queue: null, error: { text: line.error, code: line.code, retryable: line.retryable } });
      return true;
    }
    this.#takeLine(line);
    return line.done === true;
  }

  #takeLine(line) {
    const { content, thinking, tool_calls: calls } = line.message ?? {};
    if (this.queue) this.#change({ queue: null });
    if (this.#isLive && (content || thinking)) this.#began ??= performance.now();
    if (thinking) {
      this.thinking += thinking;
      this.emit("thinking", thinking);
    }
    if (content) {
      this.text += content;
      this.emit("text", content);
    }
    if (calls?.length) {
      this.toolCalls.push(...calls);
      this.emit("state");
    }
    if (!line.done) return;
    const seconds = line.eval_duration ? line.eval_duration / 1e9 : (performance.now() - this.#began) / 1000;
    const isMeasured = line.eval_count > 1 && (line.eval_duration || this.#began) && seconds > 0.05;
    this.counts = { prompt: line.prompt_eval_count, answer: line.eval_count, speed: isMeasured ? line.eval_count / seconds : null };
    this.#change({ state: line.state ?? "complete", doneReason: line.done_reason ?? null });
  }
}

/// How a reply was generated: its JSON with `parts` and `receipt`.
export async function readProvenance(id) {
  return (await send("GET", `replies/${id}`, { headers: { Accept: "application/json" } })).json();
}

/// Why an answer ended without being complete, for people; null for a complete or running one.
export function describeEnd(reply) {
  if (reply.state === "cancelled") return reply.isReplayed ? strings.stopped : strings.stoppedEarly;
  if (reply.state === "interrupted") return reply.error?.text || strings.interrupted;
  if (reply.state === "failed") return reply.error?.text || strings.failed;
  return reply.doneReason === "length" ? strings.cutByLength : null;
}
