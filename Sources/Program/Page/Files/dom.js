// Elements without markup: all text reaches the page as text.

/// Creates an element. `class` and `text` mean what they say, a function is a listener, true and false are attributes without a
/// value, and null leaves the attribute out.
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "text") element.textContent = value;
    else if (typeof value === "function") element.addEventListener(name, value);
    else if (name === "class") element.className = value;
    else if (typeof value === "boolean") element.toggleAttribute(name, value);
    else if (value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export const $ = (id) => document.getElementById(id);

/// A button with a text.
export function button(text, action, properties = {}) {
  return h("button", { type: "button", text, click: action, ...properties });
}

let notes = 0;

/// A field with its label above it, and a note below it.
export function field(label, input, note = null) {
  const id = note && `note-${++notes}`;
  if (note) input.setAttribute("aria-describedby", id);
  return h("div", { class: "field" }, h("label", {}, h("span", { text: label }), input), note && h("small", { id, text: note }));
}

/// Gives the focus of a control that leaves the page to a control of a message: the one with the same words, or the first, or else to the
/// message itself.
export function passFocus(control, message) {
  const words = (element) => element.getAttribute("aria-label") ?? element.textContent;
  const controls = [...message.querySelectorAll(".tools button:enabled")];
  const next = controls.find((other) => words(other) === words(control)) ?? controls[0] ?? message;
  if (next === message) message.tabIndex = -1;
  next.focus({ preventScroll: true });
}

/// Sets the texts of the elements that name one.
export function fillTexts(root, strings) {
  for (const element of root.querySelectorAll("[data-text]")) element.textContent = strings[element.dataset.text];
  for (const element of root.querySelectorAll("[data-label]")) element.setAttribute("aria-label", strings[element.dataset.label]);
  for (const element of root.querySelectorAll("[data-placeholder]")) element.placeholder = strings[element.dataset.placeholder];
}

/// Objects that tell listeners of their changes.
export class Emitter {
  #listeners = new Set();

  /// Calls the listener at each change; returns a function that ends this.
  listen(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  emit(...change) {
    for (const listener of [...this.#listeners]) listener(...change);
  }
}
