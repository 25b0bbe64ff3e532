// The list of conversations, its search, and what concerns all of them.

import { call } from "../api.js";
import { forgetConversation, preference, savePreference } from "../drafts.js";
import { $, h } from "../dom.js";
import { outbox } from "../outbox.js";
import { strings } from "../strings.js";

export class Sidebar {
  #typing = null;

  /// `actions` has `guard(action)`, `go(name, seq)` and `fresh()`.
  constructor(catalogue, actions) {
    Object.assign(this, { catalogue, actions, current: null });
    catalogue.listen(() => this.show());
    const on = (id, event, action) => $(id).addEventListener(event, action);
    on("search", "input", () => {
      clearTimeout(this.#typing);
      this.#typing = setTimeout(() => this.#search(), 250);
    });
    on("more", "click", () => actions.guard(() => catalogue.more()));
    on("new", "click", () => actions.fresh());
    on("archived", "click", () => this.#choose({ showsArchived: !catalogue.showsArchived, showsRequests: false }));
    on("requests", "click", () => this.#choose({ showsRequests: !catalogue.showsRequests, showsArchived: false }));
    on("import", "click", () => $("import-file").click());
    on("import-file", "change", () => actions.guard(() => this.#import()));
    on("delete-all", "click", () => actions.guard(() => this.#deleteAll()));
    on("notify", "click", () => actions.guard(() => this.#toggleNotifications()));
    on("open-sidebar", "click", () => this.toggle(true));
    on("close-sidebar", "click", () => this.toggle(false));
    on("list", "click", (event) => { if (event.target.closest("a")) this.toggle(false); });
    this.#showNotifications();
  }

  /// Shows or hides the list on a phone.
  toggle(isOpen) {
    if ($("shell").classList.contains("listing") === isOpen) return;
    $("shell").classList.toggle("listing", isOpen);
    $("open-sidebar").setAttribute("aria-expanded", String(isOpen));
    if (getComputedStyle($("open-sidebar")).display !== "none") $(isOpen ? "close-sidebar" : "open-sidebar").focus();
  }

  show() {
    const { entries, query, isLoading, next, showsArchived, showsRequests } = this.catalogue;
    const focused = document.activeElement?.closest("#list a")?.getAttribute("href");
    $("list").replaceChildren(...entries.map((entry) => this.#row(entry)));
    if (focused) [...$("list").querySelectorAll("a")].find((link) => link.getAttribute("href") === focused)?.focus();
    $("more").hidden = !next;
    const none = showsRequests ? strings.noRequests : showsArchived ? strings.noArchived : strings.noConversations;
    const nothing = query ? strings.noMatches : none;
    $("list-note").textContent = entries.length ? "" : isLoading ? (query ? strings.searching : strings.loading) : nothing;
  }

  #row(entry) {
    const title = entry.title || strings.untitled;
    const match = entry.matches?.[0];
    const link = h("a", {
      href: `#${encodeURIComponent(entry.conversation)}${match ? `/${match.seq}` : ""}`,
      "aria-current": entry.conversation === this.current ? "page" : null,
    },
    h("span", { class: "title", text: title }),
    h("time", { datetime: entry.updated_at, text: strings.date(new Date(entry.updated_at)) }),
    match ? h("small", { text: match.excerpt }) : null,
    entry.running ? h("span", { class: "running" }, h("span", { class: "hidden", text: strings.isRunning })) : null);
    return h("li", {}, link);
  }

  #search() {
    this.catalogue.query = $("search").value.trim();
    this.actions.guard(() => this.catalogue.refresh());
  }

  /// Chooses which conversations the list has. Both buttons off is the usual ones.
  #choose(shown) {
    Object.assign(this.catalogue, shown);
    $("archived").setAttribute("aria-pressed", String(shown.showsArchived));
    $("requests").setAttribute("aria-pressed", String(shown.showsRequests));
    this.actions.guard(() => this.catalogue.refresh());
  }

  async #import() {
    const [file] = $("import-file").files;
    $("import-file").value = "";
    if (file) this.actions.go(await (await import("../transfer.js")).importFile(file));
    await this.catalogue.refresh();
  }

  async #deleteAll() {
    const { confirm } = await import("./dialogs.js");
    if (!(await confirm(strings.deleteAllQuestion, strings.deleteAll))) return;
    const { deleted } = await call("DELETE", "conversations", { query: { all: 1 } });
    for (const entry of this.catalogue.entries) {
      forgetConversation(entry.conversation);
      outbox.forgetConversation(entry.conversation);
    }
    this.actions.fresh();
    await this.catalogue.refresh();
    $("list-note").textContent = strings.deletedAll(deleted);
  }

  async #toggleNotifications() {
    if (preference("notify")) {
      savePreference("notify", false);
    } else {
      if ((await Notification.requestPermission()) !== "granted") throw new Error(strings.notifyRefused);
      savePreference("notify", true);
    }
    this.#showNotifications();
  }

  #showNotifications() {
    $("notify").hidden = !("Notification" in window);
    $("notify").setAttribute("aria-pressed", String(Boolean(preference("notify"))));
  }
}
