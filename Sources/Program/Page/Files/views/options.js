// The options of the next prompts, and the system prompt of a new conversation.

import { choices, saveChoices } from "../drafts.js";
import { field, h } from "../dom.js";
import { strings } from "../strings.js";
import { openDialog } from "./dialogs.js";

/// The members of a request that stand for the options of a conversation.
export function requestOptions({ temperature, maximumTokens, contextSize, thinking }) {
  const options = { temperature, num_predict: maximumTokens, num_ctx: contextSize };
  for (const name of Object.keys(options)) if (options[name] === undefined) delete options[name];
  return {
    ...(Object.keys(options).length ? { options } : {}),
    ...(thinking === undefined ? {} : { think: thinking }),
  };
}

export function editOptions(conversation) {
  const chosen = choices(conversation.name);
  const number = (value, properties) => h("input", { type: "number", value, ...properties });
  const system = h("textarea", { rows: 5, disabled: conversation.exists, text: chosen.system ?? "" });
  const temperature = number(chosen.temperature, { min: 0, max: 2, step: 0.1 });
  const maximumTokens = number(chosen.maximumTokens, { min: 1, max: 10_000_000, step: 1 });
  const contextSize = number(chosen.contextSize, { min: 256, max: 10_000_000, step: 1 });
  const thinking = h("select", {}, ...["", "true", "false"].map((value) =>
    h("option", { value, text: strings.thinkingChoices[value], selected: value === String(chosen.thinking ?? "") })));
  const form = h("form", { id: "options-form" },
    field(strings.systemPrompt, system, conversation.exists ? strings.systemPromptFixed : null),
    field(strings.temperature, temperature), field(strings.maximumTokens, maximumTokens),
    field(strings.contextSize, contextSize), field(strings.thinking, thinking));
  const value = (input) => (input.value === "" ? undefined : Number(input.value));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    saveChoices(conversation.name, {
      ...choices(conversation.name), system: system.value.trim() || undefined, temperature: value(temperature),
      maximumTokens: value(maximumTokens), contextSize: value(contextSize), thinking: thinking.value ? thinking.value === "true" : undefined,
    });
    dialog.close();
  });
  const save = h("button", { type: "submit", form: "options-form", class: "primary", text: strings.save });
  const dialog = openDialog(strings.optionsTitle, [form], { buttons: [save] });
}
