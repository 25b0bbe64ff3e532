// Modal dialogs. The browser keeps the focus inside, and returns it to where it was.

import { button, field, h } from "../dom.js";
import { strings } from "../strings.js";

let count = 0;

/// Opens a dialog with a heading, content and buttons; returns it. It leaves the document when it closes.
export function openDialog(title, content, { buttons = [], wide = false } = {}) {
  const id = `dialog-${++count}`;
  const dialog = h("dialog", { class: wide ? "wide" : "", "aria-labelledby": id },
    h("h2", { id, text: title }), ...content,
    h("div", { class: "row end" }, button(strings.close, () => dialog.close(), { class: "quiet" }), ...buttons));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

function answer(title, content, action, { danger = false, extra = [] } = {}) {
  return new Promise((resolve) => {
    let result = null;
    const finish = (value) => {
      result = value;
      dialog.close();
    };
    const form = h("form", { method: "dialog", submit: () => { result = content.value ?? true; } },
      ...(content.nodes ?? []),
      h("div", { class: "row end" }, ...extra.map(([text, value]) => button(text, () => finish(value), { class: "quiet" })),
        button(strings.cancel, () => finish(null), { class: "quiet" }),
        h("button", { type: "submit", class: danger ? "danger" : "primary", text: action })));
    const id = `dialog-${++count}`;
    const dialog = h("dialog", { "aria-labelledby": id }, h("h2", { id, text: title }), form);
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(result);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

/// Asks a question; true for yes.
export async function confirm(question, action) {
  return (await answer(question, {}, action, { danger: true })) === true;
}

/// Asks for a text; null if the question was cancelled. `extra` are buttons with the values that they stand for.
export function ask(title, label, value, { type = "text", maxlength = 200, note = null, action = strings.save, extra = [] } = {}) {
  const input = h("input", { type, value, maxlength, required: true, autocomplete: "off" });
  input.value = value;
  return answer(title, { nodes: [field(label, input, note)], get value() { return input.value; } }, action, { extra });
}
