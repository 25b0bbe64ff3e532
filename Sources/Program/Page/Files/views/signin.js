// The question for a key or a token, where the server needs one.

import { signIn } from "../api.js";
import { $, field, h } from "../dom.js";
import { forgetOwner } from "../storage.js";
import { strings } from "../strings.js";

/// Asks until a session exists.
export function askForCredential() {
  return new Promise((resolve) => {
    const input = h("input", { type: "password", required: true, maxlength: 8192, autocomplete: "off" });
    const note = h("p", { class: "error", role: "alert" });
    const page = h("main", { id: "sign-in" },
      h("form", { submit: async (event) => {
        event.preventDefault();
        try {
          forgetOwner();
          await signIn(input.value.trim());
          page.remove();
          resolve();
        } catch (error) {
          note.textContent = error.message;
          input.focus();
        }
      } },
      h("h1", { text: strings.signInTitle }), h("p", { text: strings.signInNote }),
      field(strings.credential, input), note, h("button", { type: "submit", class: "primary", text: strings.signIn })));
    $("shell").hidden = true;
    document.body.append(page);
    input.focus();
  });
}
