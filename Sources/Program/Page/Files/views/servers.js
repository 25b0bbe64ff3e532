// The model servers, for an administrator: listed with their health, added, changed, tested, removed.

import { call, session } from "../api.js";
import { button, field, h } from "../dom.js";
import { models } from "../models.js";
import { strings } from "../strings.js";
import { alertReader } from "./announcer.js";
import { ask, confirm, openDialog } from "./dialogs.js";

const kinds = ["ollama", "openai", "llamastack"];

/// The administrator's token, until the page is closed; null while the session itself has the scope, or none was given.
let token = null;

const request = (method, path, body) =>
  call(method, path, { body, headers: token ? { Authorization: `Bearer ${token}` } : {} });

const path = (name, rest = "") => `upstreams/${encodeURIComponent(name)}${rest}`;

/// Opens the list, after a question for the token if none is given and the session may not see it.
export async function manageServers(given = null) {
  token = given ?? token;
  if (!token && !session.scopes.includes("admin")) {
    token = await ask(strings.modelServers, strings.adminToken, "", { type: "password", maxlength: 8192, note: strings.adminNote, action: strings.unlock });
    if (!token) return;
  }
  try {
    new ServerList(await request("GET", "upstreams"));
  } catch (error) {
    const isRefused = token && (error.status === 401 || error.status === 403);
    token = null;
    throw isRefused ? new Error(strings.wrongAdminToken) : error;
  }
}

class ServerList {
  constructor({ upstreams }) {
    this.note = h("p", { role: "status", class: "meta" });
    this.list = h("ul", { class: "servers" });
    this.editor = h("div");
    this.dialog = openDialog(strings.modelServers, [this.list, this.note, this.editor],
      { wide: true, buttons: [button(strings.add, () => this.#edit(null), { class: "primary" })] });
    const end = models.listen(() => this.#show());
    this.dialog.addEventListener("close", end);
    this.upstreams = upstreams;
    /// The elements with the results of the last tests, by the names of the servers.
    this.results = new Map();
    this.#show();
    models.refresh();
  }

  async #reload() {
    this.upstreams = (await request("GET", "upstreams")).upstreams;
    await models.refresh();
    this.#show();
  }

  /// Does something, and shows its error.
  async #try(action) {
    this.note.className = "meta";
    this.note.textContent = "";
    try {
      await action();
    } catch (error) {
      this.note.className = "error";
      this.note.textContent = error.problems?.join("\n") ?? error.message;
      alertReader(this.note.textContent);
    }
  }

  #health({ name, problem }) {
    const known = models.servers.find((server) => server.name === name);
    if (problem || known?.problem) return ["bad", problem ?? known.problem];
    if (known?.reachable === undefined) return ["unknown", strings.serverUnknown];
    if (!known.reachable) return ["bad", strings.serverNotReachable];
    return [known.health === "cooling_down" ? "bad" : "good", strings.serverHealth(strings.modelHealth[known.health] ?? known.health, known.models)];
  }

  /// Shows the list, if it has changed: a button in it keeps the focus otherwise.
  #show() {
    const key = JSON.stringify(this.upstreams.map((server) => [server, this.#health(server)]));
    if (key === this.shown) return;
    this.shown = key;
    const rows = this.upstreams.map((server) => {
      const [health, text] = this.#health(server);
      const result = this.results.get(server.name) ?? h("p", { class: "meta result", role: "status" });
      this.results.set(server.name, result);
      const isFixed = server.origin === "built-in";
      return h("li", {}, h("div", {},
        h("strong", { text: server.name }), h("span", { class: `health ${health}`, text }),
        h("small", { text: [server.kind, server.url, strings.serverOrigin[server.origin]].filter(Boolean).join(" · ") }), result),
      h("div", { class: "row" },
        button(strings.test, () => this.#test(server.name, result), { class: "tool", "aria-label": `${strings.test}: ${server.name}` }),
        isFixed ? null : button(strings.edit, () => this.#edit(server), { class: "tool", "aria-label": `${strings.edit}: ${server.name}` }),
        isFixed ? null : button(strings.removeServer, () => this.#remove(server.name), { class: "tool danger", "aria-label": `${strings.removeServer}: ${server.name}` })));
    });
    this.list.replaceChildren(...rows);
    if (!rows.length) this.list.append(h("li", { text: strings.noServers }));
  }

  #test(name, result) {
    return this.#try(async () => {
      result.className = "meta result";
      result.textContent = strings.testing;
      const answer = await request("POST", path(name, "/test"));
      result.className = answer.ok ? "meta result good" : "error result";
      result.textContent = [
        answer.ok ? strings.testOK(answer.models.length, answer.model, answer.reply) : `${strings.testFailed} ${answer.problem ?? ""}`,
        answer.models.length ? strings.testModels(answer.models.slice(0, 20).join(", ")) : "",
      ].join("\n");
    });
  }

  #remove(name) {
    return this.#try(async () => {
      if (!(await confirm(strings.removeServerQuestion(name), strings.removeServer))) return;
      await request("DELETE", path(name));
      await this.#reload();
    });
  }

  /// A form for a new server, or for one of the list. Members that the form does not show stay as they are.
  #edit(server) {
    const input = (name, properties = {}) => h("input", { name, value: server?.[name], autocomplete: "off", ...properties });
    const fields = {
      name: input("name", { required: true, maxlength: 128, readonly: server !== null }),
      kind: h("select", { name: "kind" }, ...kinds.map((kind) => h("option", { text: kind, value: kind, selected: kind === server?.kind }))),
      url: input("url", { type: "url", required: true, placeholder: strings.serverURLExample }),
      key: input("key", { value: server?.key_env ?? server?.key_file }),
      slots: input("slots", { type: "number", min: 1, max: 10_000 }),
      context: input("context", { type: "number", min: 1, max: 100_000_000 }),
    };
    const submit = async () => {
      const number = (name) => (fields[name].value === "" ? undefined : Number(fields[name].value));
      const key = fields.key.value.trim() || undefined;
      const body = {
        ...server, name: fields.name.value.trim(), kind: fields.kind.value, url: fields.url.value.trim(), slots: number("slots"),
        context: number("context"), key: undefined, key_env: key?.includes("/") ? undefined : key, key_file: key?.includes("/") ? key : undefined,
      };
      await request(server ? "PUT" : "POST", server ? path(server.name) : "upstreams", body);
      this.editor.replaceChildren();
      await this.#reload();
    };
    const form = h("form", { class: "editor", submit: (event) => {
      event.preventDefault();
      this.#try(submit);
    } },
    field(strings.serverName, fields.name), field(strings.serverKind, fields.kind), field(strings.serverURL, fields.url),
    field(strings.serverKey, fields.key, strings.serverKeyNote), field(strings.serverSlots, fields.slots), field(strings.serverContext, fields.context),
    h("div", { class: "row end" }, button(strings.cancel, () => this.editor.replaceChildren(), { class: "quiet" }),
      h("button", { type: "submit", class: "primary", text: strings.save })));
    this.editor.replaceChildren(form);
    (server ? fields.url : fields.name).focus();
  }
}
