// The prompt that is being written, with its attachments. Its draft survives a reload.

import { draftAttachments, draftText, saveDraftAttachments, saveDraftText } from "../drafts.js";
import { $, button, h } from "../dom.js";
import { strings } from "../strings.js";
import { alertReader } from "./announcer.js";

/// A paste beyond this many characters becomes an attachment: a field with so much text is slow.
const longPaste = 20_000;
/// Bytes of all attachments of one prompt. The server takes more, also with images in base64.
const attachmentLimit = 5_000_000;
/// The images that models read and browsers show.
const imageTypes = ["image/png", "image/jpeg", "image/gif", "image/webp"];

const isPhone = matchMedia("(pointer: coarse)");

function readBase64(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(",") + 1));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}

/// The attachment that a file becomes; null if it is neither an image nor a text, or cannot be read, as a folder.
async function readFile(file) {
  try {
    if (imageTypes.includes(file.type)) return { image: await readBase64(file) };
    const text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
    return text.includes("\0") ? null : { text, name: file.name };
  } catch {
    return null;
  }
}

/// An attached text in the prompt; that of a file has its name, and a fence that none of its lines closes.
function promptPart({ text, name }) {
  if (name === undefined) return text;
  const longest = (text.match(/`{3,}/g) ?? []).reduce((length, run) => Math.max(length, run.length), 2);
  const fence = "`".repeat(longest + 1);
  return `${name}:\n${fence}\n${text}${text.endsWith("\n") ? "" : "\n"}${fence}`;
}

export class Composer {
  /// `{text}`, `{text, name}` of a file, or `{image}` each.
  #attachments = [];
  /// Why files were refused.
  #problems = new Set();
  #conversation = null;
  #editing = null;
  #saving = null;

  /// `submit` gets `{text, images, editing}`; it returns false if the prompt must stay.
  constructor(submit) {
    this.submit = submit;
    this.input = $("prompt");
    this.form = $("composer");
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#submit();
    });
    this.input.addEventListener("input", () => this.#changed());
    this.input.addEventListener("keydown", (event) => this.#key(event));
    this.input.addEventListener("paste", (event) => this.#paste(event));
    const main = $("main");
    // Texts are left to the browser.
    const hasFiles = (event) => event.dataTransfer.types.includes("Files");
    main.addEventListener("dragover", (event) => { if (hasFiles(event)) event.preventDefault(); });
    main.addEventListener("drop", (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      this.#addFiles(event.dataTransfer.files);
    });
    $("attach").addEventListener("click", () => $("attach-file").click());
    $("attach-file").addEventListener("change", (event) => {
      this.#addFiles(event.target.files);
      event.target.value = "";
    });
    addEventListener("pagehide", () => this.#save());
  }

  /// Keeps nothing any more of what is typed.
  close() {
    clearTimeout(this.#saving);
    this.#conversation = null;
  }

  /// Shows the draft of a conversation.
  open(conversation) {
    this.#save();
    this.#conversation = conversation;
    this.#set(draftText(conversation), draftAttachments(conversation));
  }

  /// Replaces the draft, for example by an earlier prompt that is edited.
  fill({ text, images = [], editing = null }) {
    this.#save();
    this.#set(text.length > longPaste ? "" : text, [
      ...(text.length > longPaste ? [{ text }] : []), ...images.map((image) => ({ image })),
    ], editing);
    this.#changed();
    if (!editing) saveDraftAttachments(this.#conversation, this.#attachments);
    this.input.focus();
    this.input.setSelectionRange(this.input.value.length, this.input.value.length);
  }

  /// Ends the edit of an earlier prompt; returns whether there was one.
  endEdit() {
    if (!this.#editing) return false;
    this.open(this.#conversation);
    this.input.focus();
    return true;
  }

  #set(text, attachments, editing = null) {
    this.input.value = text;
    [this.#attachments, this.#editing] = [attachments, editing];
    this.#problems.clear();
    this.#show();
  }

  #changed() {
    this.#resize();
    clearTimeout(this.#saving);
    this.#saving = setTimeout(() => this.#save(), 300);
  }

  #save() {
    clearTimeout(this.#saving);
    if (this.#conversation && !this.#editing) saveDraftText(this.#conversation, this.input.value);
  }

  #key(event) {
    // Safari ends the composition of a word before its Enter, which has this code.
    const isComposing = event.isComposing || event.keyCode === 229;
    if (event.key !== "Enter" || event.shiftKey || isComposing || isPhone.matches) return;
    event.preventDefault();
    this.#submit();
  }

  #submit() {
    const texts = this.#attachments.filter((item) => item.text !== undefined).map(promptPart);
    const images = this.#attachments.filter((item) => item.image !== undefined).map((item) => item.image);
    const text = [this.input.value, ...texts].filter((part) => part.trim()).join("\n\n");
    if (!text && !images.length) return;
    if (this.submit({ text, images, editing: this.#editing }) === false) return;
    this.#set("", []);
    this.#save();
    saveDraftAttachments(this.#conversation, []);
  }

  #paste(event) {
    const { files } = event.clipboardData;
    const text = event.clipboardData.getData("text/plain");
    if (files.length && !text) {
      event.preventDefault();
      this.#addFiles(files);
    } else if (text.length > longPaste) {
      event.preventDefault();
      this.#add({ text });
    }
  }

  /// Adds files in their order.
  async #addFiles(files) {
    const conversation = this.#conversation;
    this.#problems.clear();
    for (const file of [...files]) {
      const isLarge = file.size > attachmentLimit;
      const item = isLarge ? null : await readFile(file);
      if (this.#conversation !== conversation) return;
      if (item) this.#add(item);
      else this.#refuse(isLarge ? strings.tooLarge : strings.notReadable(file.name));
    }
  }

  #add(item) {
    // Four characters of base64 are three bytes.
    const size = [...this.#attachments, item].reduce((sum, { text, image }) => sum + (text === undefined ? (image.length * 3) / 4 : new Blob([text]).size), 0);
    if (size > attachmentLimit) return this.#refuse(strings.tooLarge);
    this.#attachments = [...this.#attachments, item];
    if (!this.#editing) saveDraftAttachments(this.#conversation, this.#attachments);
    this.#show();
  }

  #refuse(problem) {
    this.#problems.add(problem);
    alertReader(problem);
    this.#show();
  }

  #show() {
    const chips = this.#attachments.map((item, index) => {
      const name = item.text === undefined ? strings.image(index + 1) : strings.attachedText(item.name, item.text.length);
      return h("li", {}, item.image ? h("img", { src: `data:image/png;base64,${item.image}`, alt: "" }) : null, h("span", { text: name }),
        button("×", () => this.#remove(index), { class: "tool", "aria-label": strings.remove(name) }));
    });
    for (const problem of this.#problems) {
      chips.push(h("li", { class: "error" }, h("span", { text: problem }), button("×", () => {
        this.#problems.delete(problem);
        this.#show();
        this.input.focus();
      }, { class: "tool", "aria-label": strings.dismiss })));
    }
    if (this.#editing) {
      chips.unshift(h("li", {}, h("span", { text: strings.editing }),
        button(strings.cancel, () => this.endEdit(), { class: "tool" })));
    }
    $("attachments").replaceChildren(...chips);
    this.#resize();
  }

  #remove(index) {
    this.#attachments = this.#attachments.filter((_, other) => other !== index);
    if (!this.#editing) saveDraftAttachments(this.#conversation, this.#attachments);
    this.#show();
    this.input.focus();
  }

  /// Grows with the text where the browser does not do so by itself.
  #resize() {
    if (CSS.supports("field-sizing", "content")) return;
    this.input.style.height = "auto";
    this.input.style.height = `${this.input.scrollHeight}px`;
  }
}
