// Server-sent events over fetch: HTML Standard, section 9.2.

import { APIError, pause, send } from "./api.js";

/// Reads events from pieces of text; lines may end in CR, LF or both, and pieces may be cut anywhere.
export class EventDecoder {
  /// The beginning of a line, in which no line end is looked for again: a long line may come in many pieces.
  #rest = "";
  #skipsLineFeed = false;
  #data = [];
  #name = "";
  #id;

  constructor(onEvent) {
    this.onEvent = onEvent;
  }

  push(text) {
    if (this.#skipsLineFeed && text) {
      this.#skipsLineFeed = false;
      if (text[0] === "\n") text = text.slice(1);
    }
    let start = 0;
    for (;;) {
      const found = /[\r\n]/g;
      found.lastIndex = start;
      const end = found.exec(text)?.index;
      if (end === undefined) break;
      const line = this.#rest + text.slice(start, end);
      this.#rest = "";
      this.#line(line);
      start = end + 1;
      if (text[end] === "\r") {
        if (start === text.length) this.#skipsLineFeed = true;
        else if (text[start] === "\n") start += 1;
      }
    }
    this.#rest += text.slice(start);
  }

  #line(line) {
    if (line === "") {
      const event = { name: this.#name || "message", data: this.#data.join("\n"), id: this.#id };
      if (this.#data.length) this.onEvent(event);
      [this.#data, this.#name, this.#id] = [[], "", undefined];
      return;
    }
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + (line[colon + 1] === " " ? 2 : 1));
    if (name === "data") this.#data.push(value);
    else if (name === "event") this.#name = value;
    else if (name === "id" && !value.includes("\0")) this.#id = value;
  }
}

/// A stream without a byte for this time is lost: the server sends a comment every 15 s.
const silence = 45_000;

/// Calls `onEvent` with each event of a response, until it ends or is lost. An event that is cut is not reported.
export async function readEvents(response, onEvent, signal) {
  const reader = response.body.getReader();
  const text = new TextDecoder();
  const decoder = new EventDecoder(onEvent);
  const cancel = () => reader.cancel().catch(() => {});
  signal?.addEventListener("abort", cancel);
  let timer;
  try {
    for (;;) {
      timer = setTimeout(cancel, silence);
      const { done, value } = await reader.read();
      clearTimeout(timer);
      if (done) return;
      decoder.push(text.decode(value, { stream: true }));
    }
  } catch {
    // A lost connection ends the stream like any other end.
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", cancel);
  }
}

/// Reads an event stream over any number of connections, each from the last event on.
///
/// - `position()` is the last id, and `onEvent` returns true at the end of the stream.
/// - `onState` learns whether the stream is connected.
/// - A response without events (204) ends it as well; `first` is a response that has come already.
export async function follow(path, { position, onEvent, onState = () => {}, signal, headers = {}, first }) {
  let attempt = 0;
  for (let isOver = false; !isOver && !signal?.aborted; ) {
    try {
      const id = position();
      const response = first || (await send("GET", path, { signal, headers: id ? { ...headers, "Last-Event-ID": id } : headers }));
      first = null;
      if (response.status === 204) return;
      onState(true);
      await readEvents(response, (event) => {
        attempt = 0;
        isOver = onEvent(event) || isOver;
      }, signal);
    } catch (error) {
      if (error.name === "AbortError") return;
      if (!(error instanceof APIError) || !error.isTemporary) throw error;
    }
    if (isOver || signal?.aborted) return;
    onState(false);
    await pause(attempt++, signal);
  }
}
