// The storage of this browser, separate for each person: who signs in next finds nothing of the one before.

import { session } from "./api.js";

/// Which person the storage was last used by, for the other tabs.
const ownerKey = "chatterd/owner";
/// Whether the page is being left: nothing is kept any more.
let isClosed = false;
/// Whether the storage had room for the owner.
let keepsOwner = false;
const prefix = () => `chatterd/${session.owner}/`;

/// The value of a name, as JSON kept it; null without one.
export function read(name) {
  try {
    return JSON.parse(localStorage.getItem(prefix() + name));
  } catch {
    return null;
  }
}

/// Keeps a value; null and other empty values remove it. Where the storage is full, the value lasts until the page is closed.
export function write(name, value) {
  if (isClosed) return;
  try {
    if (value) localStorage.setItem(prefix() + name, JSON.stringify(value));
    else localStorage.removeItem(prefix() + name);
  } catch {
    // The storage of the browser is full.
  }
}

/// The names that begin with a text.
export function names(beginning) {
  const start = prefix() + beginning;
  return Object.keys(localStorage).filter((key) => key.startsWith(start)).map((key) => key.slice(prefix().length));
}

/// Calls a function with the name and whether there is a value, when another tab has changed the value of a name that begins with a text.
export function whenChanged(beginning, action) {
  addEventListener("storage", ({ key, newValue }) => {
    if (key?.startsWith(prefix() + beginning)) action(key.slice(prefix().length), newValue !== null);
  });
}

/// Keeps nothing any more: the page is being left.
export function close() {
  isClosed = true;
}

/// Removes all that is kept for the present person, who signs out, and tells the other tabs.
export function clear() {
  close();
  forgetOwner();
  for (const name of names("")) localStorage.removeItem(prefix() + name);
}

/// Tells the other tabs that somebody signs in or out.
export function forgetOwner() {
  localStorage.removeItem(ownerKey);
}

/// Whether the present person is still the one of this browser's session, as far as the storage tells.
export function isOwner() {
  return !isClosed && (!keepsOwner || localStorage.getItem(ownerKey) === session.owner);
}

/// Tells the other tabs who uses this browser now. All tabs have the same session: `leave` is called when it is another person's, or nobody's.
export function announceOwner(leave) {
  // Earlier versions kept the texts of all persons together.
  for (const key of Object.keys(localStorage)) if (key.startsWith("chatterd.")) localStorage.removeItem(key);
  addEventListener("storage", (event) => { if (event.key === ownerKey && event.newValue !== session.owner) leave(); });
  // A page that comes back from the history has missed the events.
  addEventListener("pageshow", (event) => { if (event.persisted && !isOwner()) leave(); });
  try {
    localStorage.setItem(ownerKey, session.owner);
    keepsOwner = true;
  } catch {
    // The storage of the browser is full.
  }
}
