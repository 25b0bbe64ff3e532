// The messages of the open conversation: a window of them is on the page, which grows and shrinks while the reader scrolls.

import { $, h, passFocus } from "../dom.js";
import { strings } from "../strings.js";
import { AnswerView, PendingView, PromptView } from "./message.js";

const firstCount = 40;
const step = 30;
const maximumCount = 150;
/// Pixels from an end of the list at which the reader counts as being there.
const nearEnd = 48;
const nearEdge = 800;

const keyOf = (item) => item.seq ?? item.key;

export class MessageList {
  /// Whether the reader is at the end, so that new text scrolls.
  follows = true;
  #views = new Map();
  #first = null;
  #last = null;
  #top = 0;
  /// The number of the message that the next rendering brings into view.
  #target = null;
  #isLoading = false;

  constructor(actions) {
    this.actions = actions;
    this.scroller = $("scroller");
    this.container = $("messages");
    this.scroller.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    new ResizeObserver(() => this.#keepPosition()).observe(this.container);
    new ResizeObserver(() => this.#keepPosition()).observe(this.scroller);
    $("to-end").addEventListener("click", () => this.toEnd());
  }

  /// Shows a conversation from its end, or around one message.
  open(conversation, seq = null) {
    for (const view of this.#views.values()) view.dispose();
    this.#views.clear();
    this.container.replaceChildren();
    Object.assign(this, { conversation, follows: seq === null, bounds: null });
    [this.#first, this.#last] = [null, null];
    if (seq !== null) this.#centre(seq);
    this.#target = seq;
    this.render();
  }

  #centre(seq) {
    const items = this.conversation.items();
    const index = items.findIndex((item) => item.seq === seq);
    if (index < 0) return;
    this.#first = keyOf(items[Math.max(0, index - step)]);
    this.#last = keyOf(items[Math.min(items.length - 1, index + step)]);
  }

  toEnd() {
    [this.#first, this.#last, this.follows] = [null, null, true];
    this.render();
    this.#keepPosition();
  }

  /// Brings the page up to date with the conversation.
  render(anchor = null) {
    const items = this.conversation.items();
    const find = (key) => (key === null ? -1 : items.findIndex((item) => keyOf(item) === key));
    if (this.follows) this.#last = null;
    const last = find(this.#last);
    const end = last < 0 ? items.length : last + 1;
    let start = find(this.#first);
    if (start < 0) start = Math.max(0, end - firstCount);
    if (this.follows) start = Math.max(start, end - maximumCount);
    this.#first = items[start] && keyOf(items[start]);
    this.bounds = { start, end, count: items.length };
    const top = anchor?.getBoundingClientRect().top;
    this.#place(items.slice(start, end));
    this.#views.get(this.#target)?.element.scrollIntoView({ block: "center" });
    this.#target = null;
    if (anchor?.isConnected) this.scroller.scrollTop += anchor.getBoundingClientRect().top - top;
    this.#showButton();
  }

  #place(items) {
    const shown = new Set(items.map(keyOf));
    const focused = document.activeElement;
    let left = null;
    for (const [key, view] of this.#views) {
      if (shown.has(key)) continue;
      if (view.element.contains(focused)) left = view.message.seq ?? 0;
      view.dispose();
      view.element.remove();
      this.#views.delete(key);
    }
    if (items.length) this.container.querySelector(".welcome, .loading")?.remove();
    let next = this.container.firstElementChild;
    for (const item of items) {
      const view = this.#view(item);
      if (view.element === next) next = next.nextElementSibling;
      else this.container.insertBefore(view.element, next);
      view.update(item.seq === undefined ? [] : this.conversation.alternatives(item));
    }
    if (left === null) return;
    const other = items.find((item) => item.seq !== undefined && this.conversation.alternatives(item).some(({ seq }) => seq === left));
    if (other) passFocus(focused, this.#view(other).element);
    else this.scroller.focus({ preventScroll: true });
  }

  #view(item) {
    const key = keyOf(item);
    let view = this.#views.get(key);
    if (!view) {
      if (item.seq === undefined) view = new PendingView(item, this.actions);
      else if (item.id) view = new AnswerView(item, this.conversation.reply(item), this.actions);
      else view = new PromptView(item, this.actions);
      this.#views.set(key, view);
    }
    return view;
  }

  #keepPosition() {
    if (!this.follows) return;
    this.scroller.scrollTop = this.scroller.scrollHeight;
    this.#top = this.scroller.scrollTop;
  }

  #scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    const below = scrollHeight - scrollTop - clientHeight;
    const isAtEnd = below < nearEnd && this.bounds?.end === this.bounds?.count;
    // Growing text moves the end away from a reader who is there; only the reader moves up.
    if (isAtEnd) this.follows = true;
    else if (scrollTop < this.#top - 1) this.follows = false;
    this.#top = scrollTop;
    this.#showButton();
    if (!this.bounds || this.#isLoading) return;
    if (scrollTop < nearEdge && !this.follows) this.#growUp();
    else if (below < nearEdge && this.bounds.end < this.bounds.count) this.#growDown();
  }

  async #growUp() {
    const { conversation } = this;
    if (this.bounds.start === 0) {
      if (!conversation.moreBefore) return;
      this.#isLoading = true;
      try {
        await conversation.loadEarlier();
      } finally {
        this.#isLoading = false;
      }
      if (conversation !== this.conversation) return;
    }
    const items = conversation.items();
    const start = Math.max(0, items.findIndex((item) => keyOf(item) === this.#first) - step);
    this.#first = keyOf(items[start]);
    if (this.bounds.end - start > maximumCount) this.#last = keyOf(items[start + maximumCount - 1]);
    this.render(this.#visible());
  }

  #growDown() {
    const items = this.conversation.items();
    const end = Math.min(items.length, this.bounds.end + step);
    this.#last = end === items.length ? null : keyOf(items[end - 1]);
    if (end - this.bounds.start > maximumCount) this.#first = keyOf(items[end - maximumCount]);
    this.render(this.#visible());
  }

  /// The first message in view: it stays where it is when others come or go.
  #visible() {
    const top = this.scroller.getBoundingClientRect().top;
    return [...this.container.children].find((element) => element.getBoundingClientRect().bottom > top) ?? null;
  }

  #showButton() {
    $("to-end").hidden = this.follows;
  }

  /// Shows a note instead of messages.
  showNote(title, text, ...more) {
    for (const view of this.#views.values()) view.dispose();
    this.#views.clear();
    this.container.replaceChildren(h("div", { class: "welcome" }, h("p", { class: "large", text: title }), text && h("p", { text }), ...more));
  }

  showLoading() {
    this.container.replaceChildren(h("p", { class: "meta loading", text: strings.loading }));
  }
}
