// The list of conversations, or the result of a search.

import { call } from "./api.js";
import { Emitter } from "./dom.js";

export class Catalogue extends Emitter {
  entries = [];
  /// The cursor of the next page; undefined on the last one.
  next;
  query = "";
  showsArchived = false;
  /// Whether it has the single requests of programs in the place of the conversations.
  showsRequests = false;
  isLoading = false;
  #generation = 0;
  #timer = null;

  /// Reads the list again, as far as it was shown, up to 200 conversations.
  refresh() {
    return this.#read(null);
  }

  /// Reads it again soon: several changes in a row need one request.
  refreshSoon() {
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.refresh().catch(() => {});
    }, 150);
  }

  more() {
    return this.#read(this.next);
  }

  entry(name) {
    return this.entries.find((entry) => entry.conversation === name);
  }

  /// Takes the answer to a change of one conversation.
  update(entry) {
    const index = this.entries.findIndex((other) => other.conversation === entry.conversation);
    // Only the server knows whether it still is a single request.
    if (index < 0 || this.showsRequests) this.refreshSoon();
    else if (entry.archived === this.showsArchived) this.entries[index] = { ...this.entries[index], ...entry };
    else this.entries.splice(index, 1);
    this.emit();
  }

  async #read(cursor) {
    const generation = ++this.#generation;
    this.isLoading = true;
    this.emit();
    try {
      let page;
      const found = [];
      // A page of a search may be empty and nevertheless have a next one.
      do {
        page = await call("GET", "conversations", {
          query: {
            limit: cursor ? 50 : Math.min(200, Math.max(50, this.entries.length)), cursor: page?.next ?? cursor, q: this.query || null,
            archived: this.query || this.showsRequests ? "all" : Number(this.showsArchived), requests: this.showsRequests ? 1 : null,
          },
        });
        if (generation !== this.#generation) return;
        found.push(...page.conversations);
      } while (page.next && found.length === 0);
      this.entries = cursor ? [...this.entries, ...found] : found;
      this.next = page.next;
    } finally {
      if (generation === this.#generation) {
        this.isLoading = false;
        this.emit();
      }
    }
  }
}
