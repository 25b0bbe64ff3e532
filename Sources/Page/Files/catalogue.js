// The list of conversations, or the result of a search.

import { call } from "./api.js";
import { Emitter } from "./dom.js";

export class Catalogue extends Emitter {
  entries = [];
  /// The cursor of the next page; undefined on the last one.
  next;
  query = "";
  showsArchived = false;
  isLoading = false;
  #generation = 0;

  /// Reads the first page again.
  refresh() {
    return this.#read(null);
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
    if (index >= 0 && entry.archived === this.showsArchived) this.entries[index] = { ...this.entries[index], ...entry };
    else if (index >= 0) this.entries.splice(index, 1);
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
          query: { limit: 50, cursor: page?.next ?? cursor, q: this.query || null, archived: this.query ? "all" : Number(this.showsArchived) },
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
