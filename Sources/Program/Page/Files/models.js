// The models that can answer, and the health of their servers.

import { call } from "./api.js";
import { Emitter } from "./dom.js";

class Models extends Emitter {
  /// Entries of `GET /models`.
  list = [];
  servers = [];
  isLoaded = false;
  #timer = null;

  /// Reads the list now, and every half minute while the page is visible.
  async refresh() {
    clearTimeout(this.#timer);
    try {
      const { models, upstreams } = await call("GET", "models");
      Object.assign(this, { list: models, servers: upstreams, isLoaded: true });
      this.emit();
    } catch {
      // The old list stays until the next attempt.
    }
    clearTimeout(this.#timer);
    if (!document.hidden) this.#timer = setTimeout(() => this.refresh(), 30_000);
  }

  has(name) {
    return this.list.some((model) => model.name === name);
  }

  /// The health of the first server that would be asked.
  health(model) {
    return this.servers.find((server) => server.name === model.upstream)?.health ?? "unknown";
  }
}

export const models = new Models();
