// Requests to the server that sent the page.

import { Emitter } from "./dom.js";
import { strings } from "./strings.js";

const base = new URL(".", document.baseURI);

/// An answer that is no success, or none at all (`status` 0).
export class APIError extends Error {
  constructor(status, body = {}) {
    super(body.error || (status ? strings.httpStatus(status) : strings.unreachable));
    this.status = status;
    this.code = body.code || (status ? "" : "unreachable");
    this.problems = body.problems;
  }

  /// Whether the same request may succeed later: no answer, or one of an overloaded or starting server.
  get isTemporary() {
    return this.status === 0 || this.status === 408 || this.status === 502 || this.status === 503 || this.status === 504;
  }

  /// Whether the request got no answer of a server that looked at it: the network, a proxy, or a server that starts or stops.
  get isLost() {
    return this.isTemporary && passing.has(this.code);
  }
}

/// The codes of errors after which a prompt was not looked at, and the same server or another one will soon take it.
const passing = new Set(["unreachable", "store_unavailable", "shutting_down", "issuer_unavailable", ""]);

/// The principal of this page: `app` is named in requests in `open` mode, otherwise the credential decides. `owner` is a text for the app and
/// the person.
export const session = Object.assign(new Emitter(), { app: null, owner: "", scopes: [], isSignedIn: false });

/// The address of a path such as `conversations/x`, relative to the page. A path of the server (`/replies/x`) works too.
export function address(path, query = {}) {
  const url = new URL(path.replace(/^\//, ""), base);
  if (session.app && !url.pathname.includes("/upstreams")) url.searchParams.set("appID", session.app);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null) url.searchParams.set(name, value);
  }
  return url;
}

/// A name of a conversation as a segment of a path. Browsers remove the segments `.` and `..`, so U+0080 goes before these names.
export const nameSegment = (name) => (/^\.{1,2}$/.test(name) ? `%C2%80${name}` : encodeURIComponent(name));

/// Sends a request; returns its response if that is a success.
///
/// `body` is an object for JSON, or a text or Blob with a `type`. Throws an APIError, or an AbortError.
export async function send(method, path, { query, body, type, headers = {}, signal } = {}) {
  const fields = new Headers(headers);
  if (body !== undefined) fields.set("Content-Type", type || "application/json");
  if (method !== "GET") fields.set("X-Chatterd-Session", "1");
  const isData = typeof body === "string" || body instanceof Blob;
  let response;
  try {
    response = await fetch(address(path, query), {
      method, headers: fields, signal, cache: "no-store", body: body === undefined || isData ? body : JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new APIError(0);
  }
  if (response.ok) return response;
  const error = new APIError(response.status, await response.json().catch(() => ({})));
  if (error.status === 401 && !fields.has("Authorization")) session.emit("unauthorized");
  throw error;
}

/// Sends a request; returns the JSON of its response.
export async function call(method, path, options) {
  return (await send(method, path, options)).json();
}

/// Finds out on whose behalf the page acts. Throws an APIError with status 401 if it needs a credential.
export async function identify() {
  const [settings, principal] = await Promise.all([
    call("GET", "page/settings.json"),
    call("GET", "session"),
  ]);
  session.scopes = principal.scopes;
  session.isSignedIn = Boolean(principal.app);
  session.app = principal.app ? null : settings.app;
  session.owner = [principal.app ?? settings.app ?? "", principal.person ?? ""].map(encodeURIComponent).join("/");
}

/// Exchanges a key or a token for a session of this browser.
export async function signIn(credential) {
  const principal = await call("POST", "session", { body: {}, headers: { Authorization: `Bearer ${credential}` } });
  if (principal.app) return;
  await call("DELETE", "session");
  throw new APIError(403, { error: strings.needsAppKey });
}

/// Waits before the next attempt, longer each time; at once when the network is back.
export function pause(attempt, signal) {
  const milliseconds = Math.min(500 * 2 ** attempt, 10_000) * (0.75 + Math.random() / 2);
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      removeEventListener("online", done);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    addEventListener("online", done);
    signal?.addEventListener("abort", done);
  });
}
