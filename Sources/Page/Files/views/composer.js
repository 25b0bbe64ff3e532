// The prompt that is being written, with its attachments. Its draft survives a reload.

import { draftAttachments, draftText, saveDraftAttachments, saveDraftText } from "../drafts.js";
import { $, button, h } from "../dom.js";
import { strings } from "../strings.js";
import { alertReader } from "./announcer.js";

/// A paste beyond this many characters becomes an attachment: a field with so much text is slow.
const longPaste = 20_000;
/// Bytes of all attachments of one prompt. The server takes bodies of 8 MiB, with images in base64.
const attachmentLimit = 5_000_000;

const isPhone = matchMedia("(pointer: coarse)");

function readBase64(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(",") + 1));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}

export class Composer {
  /// `{text}` or `{image}` each.
  #attachments = [];
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
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || isPhone.matches) return;
    event.preventDefault();
    this.#submit();
  }

  #submit() {
    const pasted = this.#attachments.filter((item) => item.text !== undefined).map((item) => item.text);
    const images = this.#attachments.filter((item) => item.image !== undefined).map((item) => item.image);
    const text = [this.input.value, ...pasted].filter((part) => part.trim()).join("\n\n");
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
    for (const file of [...files]) {
      const isImage = file.type.startsWith("image/");
      // A folder cannot be read.
      const content = await (isImage ? readBase64(file) : file.text()).catch(() => null);
      if (this.#conversation !== conversation) return;
      if (content !== null) this.#add(isImage ? { image: content } : { text: content });
    }
  }

  #add(item) {
    // Four characters of base64 are three bytes.
    const size = [...this.#attachments, item].reduce((sum, { text, image }) => sum + (text === undefined ? (image.length * 3) / 4 : new Blob([text]).size), 0);
    if (size > attachmentLimit) {
      alertReader(strings.tooLarge);
      $("attachments").querySelector(".error")?.remove();
      $("attachments").append(h("li", { class: "error", text: strings.tooLarge }));
      return;
    }
    this.#attachments = [...this.#attachments, item];
    if (!this.#editing) saveDraftAttachments(this.#conversation, this.#attachments);
    this.#show();
  }

  #show() {
    const chips = this.#attachments.map((item, index) => {
      const name = item.text === undefined ? strings.image(index + 1) : strings.pastedText(item.text.length);
      return h("li", {}, item.image ? h("img", { src: `data:image/png;base64,${item.image}`, alt: "" }) : null, h("span", { text: name }),
        button("×", () => this.#remove(index), { class: "tool", "aria-label": strings.remove(name) }));
    });
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
