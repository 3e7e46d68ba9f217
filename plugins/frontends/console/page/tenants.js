// Tenants: GET /v2/console/tenants, each 2 s.
import {get, poll} from "./api.js";
import {cards, element, name, number, share, table} from "./dom.js";

const EVERY_MS = 2000;
const REASONS = {rate: "too many in a second", tokens: "more tokens than they may", concurrency: "too many at a time", wait: "waited too long", in_flight: "the server had too many",
  queue_delay: "the server's queue was too slow", deadline: "too late for their deadline", cancelled: "given up by their clients"};

/** A rate in the longest time in which it is no fraction. */
const rate = (value) => (value >= 1 || value === 0 ? `${number(value)} a second` : value * 60 >= 1 ? `${number(value * 60)} a minute` : `${number(value * 3600)} an hour`);

const limited = (value, most) => share(value, most, most > 0 ? `${number(value)} of ${number(most)}` : number(value));

function refusals(refused) {
  const some = Object.entries(refused).filter(([, count]) => count > 0);
  return some.length === 0 ? "none" : element("ul", {}, ...some.map(([reason, count]) => element("li", {}, `${number(count)} ${REASONS[reason] ?? reason}`)));
}

/** \param came  admitted in a second; null: not known yet */
const row = (one, came) => [name(one.name), limited(one.running, one.quota.concurrency), limited(one.waiting, one.quota.queue),
  (came === null ? "–" : rate(came)) + (one.quota.rate > 0 ? ` of ${rate(one.quota.rate)}` : ""),
  number(one.prompt_tokens + one.generated_tokens) + (one.quota.tokens > 0 ? ` (${rate(one.quota.tokens)} allowed)` : ""),
  number(one.quota.weight), number(one.admitted), one.waited === 0 ? "–" : number(one.wait_seconds / one.waited, 3), refusals(one.refused)];

const HEADS = ["Tenant", "Running", "Waiting", "Rate", "Tokens", "Weight", "Admitted", "Mean wait, s", "Refused"];

export function show(view, signal, status) {
  const list = element("div", {});
  view.append(element("h2", {}, "Tenants"), list);
  let before = null;
  poll(async () => {
    const found = await get("/v2/console/tenants", signal);
    if (signal.aborted) return;
    if (!found.limited) {
      list.replaceChildren(element("p", {}, "No tenant has a quota here: admission/quotas is not in the manifest, or none of its limits is set."));
      return;
    }
    const old = before !== null && before.run === found.run && before.time_ms < found.time_ms ? before : null;
    const rateOf = (one) => {
      const then = old?.tenants.find((other) => other.name === one.name);
      return then === undefined ? null : Math.max(0, one.admitted - then.admitted) * 1000 / (found.time_ms - old.time_ms);
    };
    if (before !== null && before.run === found.run && before.time_ms === found.time_ms) return;
    const sum = (of) => number(found.tenants.reduce((all, one) => all + of(one), 0));
    list.replaceChildren(
      cards([["Running", sum((one) => one.running)], ["Waiting", sum((one) => one.waiting)],
             ["Refused", sum((one) => Object.values(one.refused).reduce((all, count) => all + count, 0))],
             ["The server", found.overloaded ? "sheds requests: its queue is too slow" : "keeps up"]]),
      table("Tenants", HEADS, found.tenants.map((one) => row(one, rateOf(one)))),
      element("p", {className: "note"}, "“default” are the requests of all who have no quota of their own; “other” are those whose names get one each. Counts are since the server's start."));
    before = found;
  }, EVERY_MS, signal, status);
}
