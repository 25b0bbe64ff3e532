// The page: it connects the conversation on the screen with the list, the composer and the dialogs.

import { call, identify, pause, session } from "./api.js";
import { Catalogue } from "./catalogue.js";
import { Conversation, newName } from "./conversation.js";
import { choices, forgetConversation, preference, saveChoices, savePreference } from "./drafts.js";
import { $, button, fillTexts, h } from "./dom.js";
import { models } from "./models.js";
import { outbox } from "./outbox.js";
import { readProvenance } from "./reply.js";
import { announceOwner, clear, close, whenChanged } from "./storage.js";
import { strings } from "./strings.js";
import { alertReader, speak } from "./views/announcer.js";
import { Composer } from "./views/composer.js";
import { MessageList } from "./views/messages.js";
import { editOptions, requestOptions } from "./views/options.js";
import { Sidebar } from "./views/sidebar.js";

/// Does something; shows the error if it fails. The error of what was done before goes.
async function guard(action) {
  if ($("status").className === "error") showStatus("");
  try {
    return await action();
  } catch (error) {
    if (error.name !== "AbortError") showStatus(error.message, true);
  }
}

/// Does nothing while the same action still runs, as at a double click.
function once(action) {
  let isRunning = false;
  return async (...values) => {
    if (isRunning) return;
    isRunning = true;
    await guard(() => action(...values));
    isRunning = false;
  };
}

/// A name in the address. One that is not encoded correctly is the name of no conversation.
function decoded(name) {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/// Takes the credential of an administrator's link out of the address; undefined if there is none.
function takeCredential() {
  const credential = location.hash.match(/^#\/administer\/(.+)$/)?.[1];
  if (credential) history.replaceState(null, "", location.pathname + location.search);
  return credential && decoded(credential);
}

function showStatus(text, isError = false) {
  $("status").hidden = !text;
  $("status").replaceChildren(text);
  if (isError) $("status").append(button("×", dismissStatus, { class: "tool", "aria-label": strings.dismiss }));
  $("status").className = isError ? "error" : "";
  if (isError) alertReader(text);
}

function dismissStatus() {
  showStatus("");
  $("prompt").focus();
}

class App {
  conversation = null;
  #spoken = new WeakSet();
  #measured = null;

  constructor() {
    this.catalogue = new Catalogue();
    this.sidebar = new Sidebar(this.catalogue, { guard, go: (name) => this.go(name), fresh: () => this.fresh() });
    this.list = new MessageList({
      choose: (message) => guard(() => this.conversation.choose(message)),
      edit: (message) => this.composer.fill({ text: message.content ?? "", images: message.images, editing: message }),
      regenerate: once((message) => this.conversation.regenerate(message.id, $("model").value || undefined)),
      continue: (message) => this.#continue(message),
      fork: once((message) => this.#fork(message)),
      details: (message) => guard(async () => (await import("./views/details.js")).showDetails(message.id)),
      retry: (prompt) => this.conversation.retry(prompt),
      takeBack: (prompt) => {
        this.conversation.drop(prompt);
        this.composer.fill(prompt);
      },
    });
    this.composer = new Composer((prompt) => this.#submit(prompt));
    this.#listen();
  }

  // Navigation

  /// Opens the conversation that the address names, or a new one; or the model servers, with the credential of an administrator's link.
  route(credential = takeCredential()) {
    if (credential) {
      this.fresh(true);
      return this.#manageServers(credential);
    }
    const [name, seq] = location.hash.slice(1).split("/");
    if (!name) return this.fresh(true);
    return guard(() => this.#open(decoded(name), seq ? Number(seq) : null));
  }

  go(name) {
    location.hash = encodeURIComponent(name);
  }

  /// Opens the new conversation, which stays the same until it has a prompt.
  fresh(replaces = false) {
    const name = preference("fresh") ?? newName();
    savePreference("fresh", name);
    const hash = `#${encodeURIComponent(name)}`;
    if (replaces) history.replaceState(null, "", hash);
    else if (location.hash !== hash) this.go(name);
    this.sidebar.toggle(false);
    guard(() => this.#open(name));
    $("prompt").focus();
  }

  /// Takes what is typed to a new conversation, because another tab has begun the one that was new.
  #leaveTaken() {
    const { conversation } = this;
    if (!conversation || conversation.exists || conversation.pending.length || preference("fresh") === conversation.name) return;
    const text = $("prompt").value;
    $("prompt").value = "";
    this.fresh(true);
    this.composer.fill({ text });
  }

  async #open(name, seq = null) {
    if (this.conversation?.name === name && seq === null) return;
    this.conversation?.close();
    const conversation = new Conversation(name);
    Object.assign(this, { conversation });
    this.sidebar.current = name;
    this.sidebar.show();
    this.composer.open(name);
    showStatus("");
    $("gauge").hidden = true;
    this.list.open(conversation);
    this.list.showLoading();
    conversation.listen((kind, reply) => this.#changed(conversation, kind, reply));
    await conversation.open(seq, preference("fresh") === name);
    if (this.conversation !== conversation) return;
    this.list.open(conversation, seq);
    this.#changed(conversation, "messages");
  }

  #changed(conversation, kind, reply) {
    if (conversation !== this.conversation) return;
    if (kind === "messages") {
      this.list.render();
      if (conversation.exists && preference("fresh") === conversation.name) savePreference("fresh", null);
      this.#showState();
    } else if (kind === "ended") {
      this.#showState();
      this.#notify(reply);
      this.catalogue.refreshSoon();
    } else if (kind === "refused") {
      alertReader(reply.error.message);
    } else if (kind === "settings") {
      this.#showTitle();
    } else if (kind === "list") {
      this.catalogue.refreshSoon();
    } else if (kind === "connection") {
      showStatus(conversation.isConnected ? "" : strings.reconnecting);
      if (conversation.isConnected) this.catalogue.refreshSoon();
    } else if (kind === "deleted") {
      const empty = new Conversation(conversation.name);
      empty.close();
      this.list.open(empty);
      this.list.showNote(strings.deletedElsewhere, null, button(strings.newConversation, () => this.fresh(), { class: "primary" }));
      conversation.close();
      this.catalogue.refreshSoon();
    }
  }

  /// Brings everything around the messages up to date.
  #showState() {
    const { conversation } = this;
    const running = conversation.running();
    for (const reply of running) {
      if (!this.#spoken.has(reply)) speak(reply);
      this.#spoken.add(reply);
    }
    $("stop").hidden = running.length === 0;
    this.#showTitle();
    this.#showModels();
    if (conversation.items().length === 0) this.#showWelcome();
    for (const id of ["rename", "archive", "export", "delete"]) $(id).hidden = !conversation.exists;
    $("actions").hidden = !conversation.exists;
    const answered = conversation.branch().findLast((message) => message.id && conversation.reply(message).state === "complete");
    if (answered && answered.id !== this.#measured) this.#measure(answered.id);
  }

  #showTitle() {
    const entry = this.catalogue.entry(this.conversation.name);
    const title = this.conversation.title ?? entry?.title ?? this.conversation.firstWords;
    $("title").textContent = title || (this.conversation.exists ? strings.untitled : strings.newConversation);
    document.title = title ? `${title} – chatterd` : "chatterd";
    $("archive").textContent = this.#isArchived ? strings.unarchive : strings.archive;
    $("export").href = new URL(`${this.conversation.path}/export${session.app ? `?appID=${encodeURIComponent(session.app)}` : ""}`, document.baseURI);
    $("export").download = `${(title || this.conversation.name).replace(/[^\p{L}\p{N} _-]/gu, "").slice(0, 60)}.ndjson`;
  }

  /// The list has only a part of the conversations.
  get #isArchived() {
    return this.conversation.archived ?? this.catalogue.entry(this.conversation.name)?.archived ?? false;
  }

  #showModels() {
    const answers = this.conversation.branch().filter((message) => message.id);
    const wanted = choices(this.conversation.name).model ?? answers.at(-1)?.model ?? preference("model") ?? models.list[0]?.name;
    const options = models.list.map((model) => h("option", {
      value: model.name, selected: model.name === wanted,
      text: strings.modelOption(model.name, model.upstreams.join(", "), models.health(model) === "unknown" ? "" : strings.modelHealth[models.health(model)]),
    }));
    if (wanted && !models.has(wanted)) options.unshift(h("option", { value: wanted, text: wanted, selected: true }));
    const away = models.servers.filter((server) => server.problem);
    options.push(...away.map((server) => h("option", { value: "", disabled: true, text: strings.unreachableServer(server.name, server.problem) })));
    const present = [...$("model").options].map((option) => option.text + option.value).join("\n");
    if (present !== options.map((option) => option.text + option.value).join("\n")) $("model").replaceChildren(...options);
    if (wanted) $("model").value = wanted;
  }

  #showWelcome() {
    const isEmpty = models.isLoaded && models.list.length === 0;
    if (this.conversation.isMissing && !this.conversation.exists) {
      const begin = button(strings.newConversation, () => this.fresh(), { class: "primary" });
      this.list.showNote(strings.noConversation, strings.noConversationNote, begin);
    } else if (isEmpty) {
      const add = button(strings.addServer, () => this.#manageServers(), { class: "primary" });
      this.list.showNote(strings.noModels, strings.noModelsNote, add);
    } else {
      this.list.showNote(strings.welcome, strings.welcomeNote);
    }
  }

  /// Shows how much of the model's context the conversation uses.
  async #measure(id) {
    this.#measured = id;
    const [{ contextShare }, stored] = await Promise.all([import("./views/details.js"), readProvenance(id)]).catch(() => [{}, null]);
    const share = stored && contextShare(stored);
    if (this.#measured !== id) return;
    const gauge = $("gauge");
    gauge.hidden = !share;
    if (!share) return;
    gauge.firstElementChild.value = share.share;
    gauge.title = strings.contextOf(share.used, share.context);
    gauge.lastElementChild.textContent = strings.share(Math.round(share.share * 100));
  }

  #notify(reply) {
    if (!document.hidden || !preference("notify") || Notification.permission !== "granted") return;
    const note = new Notification($("title").textContent, { body: reply.error ? strings.answerFailed : strings.answerFinished, tag: reply.id });
    note.onclick = () => window.focus();
  }

  // Actions

  #submit({ text, images, editing }) {
    const model = $("model").value;
    if (!model) {
      showStatus(strings.chooseModel, true);
      return false;
    }
    // Nothing can follow what was deleted.
    if (this.conversation.isDeleted) {
      const deleted = this.conversation.name;
      const name = newName();
      history.replaceState(null, "", `#${name}`);
      guard(() => this.#open(name));
      forgetConversation(deleted);
      editing = null;
    }
    const message = { role: "user", content: text, ...(images.length ? { images } : {}) };
    const shown = { text, images };
    const request = {};
    if (editing) {
      request.parent = this.conversation.parent(editing);
      shown.after = this.conversation.branch().findLast((other) => other.seq < editing.seq)?.seq ?? 0;
    }
    this.#ask({ ...request, messages: [message] }, shown);
    return true;
  }

  #ask(request, shown) {
    const chosen = choices(this.conversation.name);
    savePreference("model", $("model").value);
    this.list.toEnd();
    return this.conversation.ask({ model: $("model").value, ...requestOptions(chosen), ...request }, shown,
      this.conversation.exists ? undefined : chosen.system);
  }

  /// Continues an answer that ended early: its text is part of the history.
  #continue({ id, seq }) {
    const last = { role: "user", content: strings.continuePrompt };
    return this.#ask({ messages: [last], parent: id }, { text: last.content, images: [], after: seq });
  }

  async #fork(message) {
    const { conversation } = await call("POST", `${this.conversation.path}/fork`, { body: { reply: message.id } });
    this.go(conversation);
    $("prompt").focus();
    await this.catalogue.refresh();
  }

  #stop() {
    for (const reply of this.conversation.running()) guard(() => reply.stop());
  }

  #manageServers(token) {
    return guard(async () => (await import("./views/servers.js")).manageServers(token));
  }

  async #rename() {
    const { ask } = await import("./views/dialogs.js");
    const suggestion = Symbol("suggestion");
    const title = await ask(strings.rename, strings.renameLabel, $("title").textContent, { extra: [[strings.suggest, suggestion]] });
    if (title === null) return;
    const { conversation } = this;
    const { path } = conversation;
    let entry;
    if (title === suggestion) {
      // A conversation without a title has none afterwards, but the first words in its place.
      const before = conversation.title === null ? null : $("title").textContent;
      await call("PATCH", path, { body: { title: null } });
      try {
        entry = await call("POST", `${path}/title`, { body: { model: $("model").value || undefined } });
      } catch (error) {
        await call("PATCH", path, { body: { title: before } });
        throw error;
      }
    } else {
      entry = await call("PATCH", path, { body: { title: title.trim() } });
    }
    conversation.takeSettings(entry);
    this.catalogue.update(entry);
  }

  async #archive() {
    const archived = !this.#isArchived;
    this.catalogue.update(await call("PATCH", this.conversation.path, { body: { archived } }));
    this.fresh();
  }

  async #delete() {
    const { confirm } = await import("./views/dialogs.js");
    const { conversation } = this;
    if (!(await confirm(strings.deleteQuestion($("title").textContent), strings.delete))) return;
    conversation.close();
    await call("DELETE", conversation.path);
    forgetConversation(conversation.name);
    outbox.forgetConversation(conversation.name);
    this.fresh();
    await this.catalogue.refresh();
  }

  /// Leaves nothing of this person in the browser.
  async #signOut() {
    const { confirm } = await import("./views/dialogs.js");
    if (outbox.count && !(await confirm(strings.unsentQuestion(outbox.count), strings.signOut))) return;
    await call("DELETE", "session");
    clear();
    this.leave();
  }

  /// Ends the page of a person who does not use this browser any more.
  leave() {
    close();
    this.composer.close();
    location.reload();
  }

  // Events

  #listen() {
    const on = (id, action) => $(id).addEventListener("click", () => guard(action));
    on("stop", () => this.#stop());
    on("options", () => editOptions(this.conversation));
    on("servers", () => this.#manageServers());
    on("rename", () => this.#rename());
    on("archive", () => this.#archive());
    on("delete", () => this.#delete());
    on("sign-out", () => this.#signOut());
    document.querySelector(".skip").addEventListener("click", (event) => {
      // The part of the address after # is the name of a conversation.
      event.preventDefault();
      $("prompt").focus();
    });
    $("model").addEventListener("change", () => {
      const { name } = this.conversation;
      saveChoices(name, { ...choices(name), model: $("model").value });
    });
    models.listen(() => this.conversation && this.#showState());
    this.catalogue.listen(() => this.conversation && this.#showTitle());
    whenChanged("preference.fresh", () => this.#leaveTaken());
    outbox.listen((kind, prompt) => {
      if (kind === "sent" && preference("fresh") === prompt.conversation) savePreference("fresh", null);
      if (kind === "sent") this.catalogue.refreshSoon();
      if (kind === "refused" && prompt.conversation !== this.conversation?.name) showStatus(prompt.error.message, true);
    });
    addEventListener("hashchange", () => this.route());
    addEventListener("keydown", (event) => this.#key(event));
    addEventListener("click", (event) => {
      if (event.target.closest(".menu")) this.#closeMenu();
      else if (!event.target.closest("#actions")) $("actions").open = false;
    });
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) return this.conversation?.rest();
      this.conversation?.follow();
      models.refresh();
      this.catalogue.refreshSoon();
    });
  }

  #key(event) {
    if (event.altKey && event.code === "KeyN") this.fresh();
    else if (event.altKey && event.code === "KeyS") $("search").focus();
    else if (event.key === "Escape" && $("actions").open) this.#closeMenu();
    else if (event.key === "Escape" && $("shell").classList.contains("listing")) this.sidebar.toggle(false);
    else if (event.key === "Escape" && event.target === $("prompt") && !event.isComposing) this.composer.endEdit() || this.#stop();
    else return;
    event.preventDefault();
  }

  /// Closes the menu. A dialog returns the focus to where it was, and the menu's own controls are hidden then.
  #closeMenu() {
    $("actions").open = false;
    $("actions").firstElementChild.focus();
  }
}

/// Finds out who uses the page: asks for a credential where one is needed, and waits for a server that is starting.
async function admit() {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await identify();
    } catch (error) {
      if (error.status === 401) await (await import("./views/signin.js")).askForCredential();
      else if (error.isTemporary && attempt < 100) await pause(attempt);
      else throw error;
    }
  }
}

async function start() {
  document.documentElement.lang = strings.language;
  fillTexts(document, strings);
  const credential = takeCredential();
  await admit();
  $("shell").hidden = false;
  $("sign-out").hidden = !session.isSignedIn;
  session.listen(() => location.reload());
  const app = new App();
  announceOwner(() => app.leave());
  outbox.resume();
  app.route(credential);
  models.refresh();
  app.catalogue.refresh().catch(() => {});
  // So that every dialog opens also while the server is away.
  setTimeout(() => {
    for (const file of ["transfer.js", "views/details.js", "views/dialogs.js", "views/servers.js"]) import(`./${file}`).catch(() => {});
  }, 2000);
}

start().catch((error) => {
  document.body.append(h("p", { class: "error fatal", role: "alert", text: error.message }));
});
