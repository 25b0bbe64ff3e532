// How an answer was made: which model server wrote which part, and what part of the history the model received.

import { readProvenance } from "../reply.js";
import { h } from "../dom.js";
import { strings } from "../strings.js";
import { openDialog } from "./dialogs.js";

/// The share of the context that an answer used, with its sizes in tokens; null if the context is not known.
export function contextShare(stored) {
  const { context, prompt_tokens: counted, estimated_tokens: estimated } = stored.receipt ?? {};
  const used = (counted ?? estimated ?? 0) + (stored.eval_count ?? 0);
  return context ? { used, context, share: Math.min(1, used / context) } : null;
}

function historyList({ sent = [], left_out: leftOut = [], abridged, cut_by_server: cut }) {
  const rows = [
    ...sent.map(([from, to]) => ({ from, text: strings.sentRange(from, to) })),
    ...leftOut.map(({ from, to, why }) => ({ from, text: strings.leftOutRange(from, to, strings.whyLeftOut[why] ?? why), class: "left-out" })),
  ].sort((left, right) => left.from - right.from);
  return [
    h("ol", { class: "ranges" }, ...rows.map((row) => h("li", { class: row.class ?? "", text: row.text }))),
    abridged ? h("p", { class: "meta", text: strings.abridged }) : null,
    cut ? h("p", { class: "error", text: strings.cutByServer }) : null,
  ];
}

/// The times of an answer; nothing for one that has none.
function timeList({ ttft_ms: first, queue_ms: queue, attempts }) {
  if (attempts === undefined) return [];
  const rows = [
    first === undefined ? null : strings.firstToken(first),
    queue ? strings.queueTime(queue) : null,
    strings.attempts(attempts),
  ].filter(Boolean);
  return [h("h3", { text: strings.times }), h("ul", { class: "times" }, ...rows.map((text) => h("li", { text })))];
}

export async function showDetails(id) {
  const stored = await readProvenance(id);
  const share = contextShare(stored);
  const parts = (stored.parts ?? []).map((part) => h("li", { text: strings.part(part.upstream, part.model, part.from, part.to) }));
  const hasCounts = stored.prompt_eval_count !== undefined && stored.eval_count !== undefined;
  openDialog(strings.detailsTitle, [
    h("h3", { text: strings.writtenBy }),
    parts.length ? h("ul", {}, ...parts) : h("p", { class: "meta", text: strings.unknownServer }),
    hasCounts ? h("p", { text: strings.counts(stored.prompt_eval_count, stored.eval_count) }) : null,
    ...timeList(stored.receipt ?? {}),
    ...(share ? [h("h3", { text: strings.contextUsed }),
      h("p", {}, h("meter", { min: 0, max: 1, value: share.share, "aria-label": strings.contextUsed }),
        ` ${strings.contextOf(share.used, share.context)}`)] : []),
    ...(stored.receipt ? [h("h3", { text: strings.history }), ...historyList(stored.receipt)] : []),
  ].filter(Boolean));
}
