// The memory of this browser: unsent drafts, and the model and options of each conversation. It holds no secrets.

import { read, write } from "./storage.js";

/// The unsent text of a conversation.
export const draftText = (conversation) => read(`text.${conversation}`) ?? "";
export const saveDraftText = (conversation, text) => write(`text.${conversation}`, text);

/// The pasted texts and images of the unsent prompt.
export const draftAttachments = (conversation) => read(`attachments.${conversation}`) ?? [];
export const saveDraftAttachments = (conversation, list) => write(`attachments.${conversation}`, list.length ? list : null);

/// The model, the options and the system prompt for the next prompts of a conversation.
export const choices = (conversation) => read(`choices.${conversation}`) ?? {};
export const saveChoices = (conversation, value) => write(`choices.${conversation}`, value);

/// Settings of this browser.
export const preference = (name) => read(`preference.${name}`);
export const savePreference = (name, value) => write(`preference.${name}`, value);

/// Forgets everything about a conversation.
export function forgetConversation(conversation) {
  for (const kind of ["text", "attachments", "choices"]) write(`${kind}.${conversation}`, null);
}
