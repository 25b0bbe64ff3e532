// The storage of this browser, separate for each person: who signs in next finds nothing of the one before.

import { session } from "./api.js";

/// Which person the storage was last used by, for the other tabs.
const ownerKey = "chatterd/owner";
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

/// Calls a function when another tab has changed the value of a name.
export function whenChanged(name, action) {
  addEventListener("storage", (event) => { if (event.key === prefix() + name) action(); });
}

/// Removes all that is kept for the present person, who signs out, and tells the other tabs.
export function clear() {
  for (const name of names("")) localStorage.removeItem(prefix() + name);
  localStorage.removeItem(ownerKey);
}

/// Tells the other tabs who uses this browser now. All tabs have the same session: `leave` is called when it is another person's, or nobody's.
export function announceOwner(leave) {
  // Earlier versions kept the texts of all persons together.
  for (const key of Object.keys(localStorage)) if (key.startsWith("chatterd.")) localStorage.removeItem(key);
  addEventListener("storage", (event) => { if (event.key === ownerKey && event.newValue !== session.owner) leave(); });
  try {
    localStorage.setItem(ownerKey, session.owner);
  } catch {
    // The storage of the browser is full.
  }
}
