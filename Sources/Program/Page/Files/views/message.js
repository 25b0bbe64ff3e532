// One message on the page: a prompt, an answer, or a prompt on its way.

import { button, h, passFocus } from "../dom.js";
import { appendText } from "../markdown/nodes.js";
import { MarkdownRenderer, renderMarkdown } from "../markdown/renderer.js";
import { describeEnd } from "../reply.js";
import { strings } from "../strings.js";

/// Characters of a prompt that are shown at first.
const shownLength = 6000;
/// Characters that are added to an answer in one frame, so that a long text that comes at once does not block the page.
const frameLength = 8_000;

/// Copies a text. A page of plain http has no `navigator.clipboard`.
async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const field = h("textarea", { class: "copied", readonly: true });
  field.value = text;
  const focused = document.activeElement;
  document.body.append(field);
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  focused?.focus();
  if (!isCopied) throw new Error(strings.notCopied);
}

function copyButton(text, label = strings.copy) {
  const element = button(label, async () => {
    element.textContent = await copy(text()).then(() => strings.copied, () => strings.notCopied);
    setTimeout(() => { element.textContent = label; }, 2000);
  }, { class: "tool" });
  return element;
}

const markdownOptions = {
  onCode(pre, getText) {
    pre.before(h("div", { class: "code-bar" }, copyButton(getText, strings.copyCode)));
    pre.tabIndex = 0;
  },
};

/// Fills an element again only if its content would differ, so that a button in it keeps the focus.
function refill(element, key, make) {
  const text = JSON.stringify(key);
  if (element.contentKey === text) return;
  element.contentKey = text;
  replaceContent(element, make().filter(Boolean));
}

function replaceContent(element, nodes) {
  const focused = element.contains(document.activeElement) ? document.activeElement : null;
  element.replaceChildren(...nodes);
  if (focused) passFocus(focused, element.closest(".message"));
}

/// Images of messages are base64 without a type; the first characters tell it.
function imageAddress(data) {
  const types = { "/9j/": "jpeg", iVBO: "png", R0lG: "gif", UklG: "webp" };
  return `data:image/${types[data.slice(0, 4)] ?? "png"};base64,${data}`;
}

function imageList(images = []) {
  if (!images.length) return null;
  return h("div", { class: "images" }, ...images.map((data, index) =>
    h("img", { src: imageAddress(data), alt: strings.image(index + 1), loading: "lazy" })));
}

/// A text as it is, with a button for the rest if it is long.
function plainText(text) {
  const body = h("div", { class: "text", dir: "auto", text: text.slice(0, shownLength) });
  if (text.length <= shownLength) return body;
  const more = button(strings.showAll(text.length), () => {
    body.textContent = text;
    more.remove();
  }, { class: "tool" });
  return h("div", {}, body, more);
}

function toolCallList(calls) {
  return calls.map((call) => h("details", { class: "aside" },
    h("summary", { text: strings.toolCall(call.function?.name ?? "?") }),
    h("pre", { tabindex: "0", text: JSON.stringify(call.function?.arguments ?? call, null, 2) })));
}

/// One call of a tool of the server: a line with its state, its arguments and result on demand, and buttons while it waits for an approval.
class StepView {
  #shown = null;
  #isAsked = false;

  constructor(reply) {
    this.reply = reply;
    this.summary = h("summary");
    this.content = h("div");
    this.tools = h("div", { class: "tools" });
    this.element = h("div", { class: "step" }, h("details", { class: "aside" }, this.summary, this.content), this.tools);
  }

  update(step) {
    const isAsked = step.state === "asked" && !this.reply.isOver;
    const key = `${step.state} ${isAsked}`;
    if (this.#shown === key) return;
    this.#shown = key;
    this.summary.textContent = strings.step(step.name, strings.stepStates[step.state === "asked" && !isAsked ? "refused" : step.state] ?? step.state);
    const texts = [step.arguments && JSON.stringify(step.arguments, null, 2), step.result].filter(Boolean);
    this.content.replaceChildren(...texts.map((text) => h("pre", { tabindex: "0", text })));
    if (step.is_cut) this.content.append(h("p", { class: "meta", text: strings.stepCut }));
    replaceContent(this.tools, isAsked ? this.#buttons(step) : []);
    // A person sees what they approve.
    if (isAsked || this.#isAsked) this.element.firstElementChild.open = isAsked;
    this.#isAsked = isAsked;
  }

  #buttons(step) {
    const note = h("span", { class: "meta" });
    const make = (text, approve) => button(text, async () => {
      buttons.forEach((other) => { other.disabled = true; });
      await this.reply.answer(step, approve).catch((error) => {
        note.textContent = error.message;
        buttons.forEach((other) => { other.disabled = false; });
      });
    }, { class: "tool", "aria-label": `${text}: ${step.name}` });
    const buttons = [make(strings.approve, true), make(strings.deny, false)];
    return [...buttons, note];
  }
}

/// `‹ 2 of 3 ›`, if a message has alternatives.
function alternatives(message, all, actions) {
  if (all.length < 2) return null;
  const index = all.indexOf(message);
  const step = (by, text, sign) => button(sign, () => actions.choose(all[index + by]),
    { class: "tool", "aria-label": text, disabled: !all[index + by] });
  return h("span", { class: "alternatives" }, step(-1, strings.previous, "‹"),
    h("span", { text: strings.alternative(index + 1, all.length) }), step(1, strings.next, "›"));
}

/// A message of a role other than the assistant, or a prompt on its way.
export class PromptView {
  constructor(message, actions) {
    const isSystem = message.role === "system";
    const role = { user: strings.you, system: strings.system, tool: strings.tool }[message.role] ?? strings.assistant;
    this.element = h("article", { class: `message ${message.role === "user" ? "prompt" : "note"}`, "aria-label": role });
    this.message = message;
    this.actions = actions;
    const text = message.role === "assistant" ? h("div", { class: "markdown" }) : plainText(message.content ?? "");
    if (message.role === "assistant") renderMarkdown(text, message.content ?? "", markdownOptions);
    const content = [imageList(message.images), text, ...toolCallList(message.tool_calls ?? [])];
    this.tools = h("footer", { class: "tools" });
    if (isSystem) this.element.append(h("details", { class: "aside" }, h("summary", { text: role }), ...content));
    else this.element.append(h("div", { class: "body" }, ...content.filter(Boolean)), this.tools);
  }

  /// Shows the buttons that fit the present state.
  update(all) {
    if (this.message.role !== "user") return;
    refill(this.tools, all.map((message) => message.seq), () => [
      alternatives(this.message, all, this.actions),
      copyButton(() => this.message.content ?? ""),
      button(strings.edit, () => this.actions.edit(this.message), { class: "tool" }),
    ]);
  }

  dispose() {}
}

/// A prompt that the server has not confirmed.
export class PendingView extends PromptView {
  constructor(prompt, actions) {
    super({ role: "user", content: prompt.text, images: prompt.images }, actions);
    this.prompt = prompt;
    this.element.classList.add("pending");
  }

  update() {
    const { error } = this.prompt;
    refill(this.tools, error?.message ?? null, () => (error ? [
      h("p", { class: "error" }, h("strong", { text: strings.error }), ` ${error.message}`),
      button(strings.tryAgain, () => this.actions.retry(this.prompt), { class: "tool" }),
      button(strings.backToPrompt, () => this.actions.takeBack(this.prompt), { class: "tool" }),
    ] : [h("span", { class: "meta", text: strings.sending })]));
  }
}

/// An answer, complete or on its way.
export class AnswerView {
  #unshown = "";
  #frame = null;
  #renderer;

  constructor(message, reply, actions) {
    Object.assign(this, { message, reply, actions, all: [message] });
    this.reasoning = h("details", { class: "aside", hidden: true }, h("summary"), h("div", { class: "text", dir: "auto" }));
    this.calls = h("div");
    this.steps = h("div");
    this.stepViews = new Map();
    this.body = h("div", { class: "markdown", dir: "auto" });
    this.note = h("p", { class: "error", hidden: true });
    this.tools = h("footer", { class: "tools" });
    this.element = h("article", { class: "message answer", "aria-label": strings.assistant }, this.reasoning, this.body, this.steps, this.calls, this.note, this.tools);
    this.#restart();
    this.end = reply.listen((kind, piece) => this.#take(kind, piece));
  }

  #restart() {
    cancelAnimationFrame(this.#frame);
    this.#frame = null;
    this.body.replaceChildren();
    const thinking = this.reasoning.lastElementChild;
    thinking.replaceChildren();
    appendText(thinking, this.reply.thinking);
    this.#unshown = "";
    if (this.reply.isOver) {
      renderMarkdown(this.body, this.reply.text, markdownOptions);
    } else {
      this.#renderer = new MarkdownRenderer(this.body, markdownOptions);
      this.#show(this.reply.text);
    }
  }

  #take(kind, piece) {
    if (kind === "text") {
      this.#show(piece);
      if (this.body.childElementCount === 0) this.update();
    } else if (kind === "thinking") {
      if (this.reasoning.hidden) this.update();
      appendText(this.reasoning.lastElementChild, piece);
    } else if (kind === "step") {
      // The state follows.
    } else if (kind === "reset") {
      this.#restart();
      this.calls.replaceChildren();
      this.update();
    } else {
      if (this.reply.isOver) this.#finish();
      this.update();
    }
  }

  #show(text) {
    this.#unshown += text;
    if (this.#unshown) this.#frame ??= requestAnimationFrame(() => this.#flush(frameLength));
  }

  #flush(length) {
    this.#frame = null;
    const text = this.#unshown.slice(0, length);
    this.#unshown = this.#unshown.slice(text.length);
    this.#renderer.append(text);
    if (this.#unshown) this.#show("");
  }

  #finish() {
    if (!this.#renderer) return;
    cancelAnimationFrame(this.#frame);
    this.#flush(Infinity);
    this.#renderer.finish();
    this.#renderer = null;
  }

  /// Shows the state and the buttons that fit it.
  update(all = this.all) {
    this.all = all;
    const { reply } = this;
    this.element.setAttribute("aria-busy", String(!reply.isOver));
    this.reasoning.hidden = !reply.thinking;
    this.reasoning.firstElementChild.textContent = reply.isOver || reply.text ? strings.reasoning : strings.reasoningNow;
    this.#showSteps();
    this.#showCalls();
    const end = describeEnd(reply);
    this.note.hidden = !end;
    this.note.className = reply.error ? "error" : "meta";
    this.note.replaceChildren(...(reply.error ? [h("strong", { text: strings.error }), ` ${end}`] : [end ?? ""]));
    const key = reply.isOver ? [reply.state, reply.doneReason, reply.counts, all.map((message) => message.seq)] : this.#progress();
    refill(this.tools, key, () => (reply.isOver ? this.#toolsAtEnd() : [h("span", { class: "meta progress", text: this.#progress() })]));
  }

  /// Adds the calls that are not shown yet: an answer may have thousands of them, and one that a reader has opened stays open.
  #showCalls() {
    const { toolCalls } = this.reply;
    const shown = this.calls.childElementCount;
    if (shown > toolCalls.length) replaceContent(this.calls, toolCallList(toolCalls));
    else this.calls.append(...toolCallList(toolCalls.slice(shown)));
  }

  #showSteps() {
    for (const [place, step] of this.reply.steps) {
      let view = this.stepViews.get(place);
      if (!view) {
        view = new StepView(this.reply);
        this.stepViews.set(place, view);
        this.steps.append(view.element);
      }
      view.update(step);
    }
  }

  #progress() {
    const { queue, text, thinking } = this.reply;
    if (this.reply.isAsking) return strings.approving;
    if (queue) return strings.queued(queue.position, queue.length, queue.upstream);
    return text || thinking ? "" : strings.waiting;
  }

  #toolsAtEnd() {
    const { reply, actions, message } = this;
    const { answer } = reply.counts;
    const meta = [message.model ?? reply.model, answer && strings.tokens(answer), reply.speed && strings.speed(reply.speed)];
    const canContinue = reply.state !== "complete" || reply.doneReason === "length";
    return [
      alternatives(message, this.all, actions),
      copyButton(() => reply.text),
      button(strings.regenerate, () => actions.regenerate(message), { class: "tool" }),
      canContinue && reply.isReplayed && reply.text ? button(strings.continue, () => actions.continue(message), { class: "tool" }) : null,
      reply.isReplayed ? button(strings.fork, () => actions.fork(message), { class: "tool" }) : null,
      button(strings.details, () => actions.details(message), { class: "tool" }),
      h("span", { class: "meta", text: meta.filter(Boolean).join(" · ") }),
    ];
  }

  dispose() {
    cancelAnimationFrame(this.#frame);
    this.end();
  }
}
