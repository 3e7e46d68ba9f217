// Pools and leases: GET /v2/pools and /v2/leases, each 5 s; a dry run; renew and release.
import {actButton} from "../../acts.js";
import {get, mayAct, poll, post, remove} from "../../api.js";
import {cards, element, keepFocus, name, number, readsOnly, state, table} from "../../dom.js";

const EVERY_MS = 5000;
const LIVES = ["PENDING", "DEPLOYING", "ACTIVE"];

/** An instance's quota as a bar with a part for each lease. */
function bar(instance, pool, leases) {
  const words = `${number(instance.used)} of ${number(pool.quota)}`;
  const parts = leases.filter((lease) => instance.leases.includes(lease.id)).map((lease) => {
    const part = element("span", {className: "part", title: `lease ${lease.name || lease.id}: ${number(lease.quota)}`});
    part.style.width = `${Math.min(100, 100 * lease.quota / pool.quota)}%`;
    return part;
  });
  return element("span", {className: "share"}, element("span", {className: "bar", role: "img", "aria-label": `${words} used`}, ...parts), words);
}

const instanceRow = (one, pool, leases) => [one.name, state(one.state), bar(one, pool, leases), (one.backends ?? ["not known yet"]).join(", ") || "any",
  number(one.leases.length), name(one.address || "–"), name(one.reason ?? "")];

function poolSection(pool, leases) {
  const used = pool.instances.reduce((sum, one) => sum + one.used, 0);
  return element("section", {}, element("h3", {}, "Pool ", name(pool.name)),
    cards([["State", state(pool.state)], ["Instances", `${number(pool.instances.length)} of ${number(pool.min_instances)} to ${number(pool.max_instances)}`],
           ["Quota of each", number(pool.quota)], ["Quota in use", `${number(used)} of ${number(pool.instances.length * pool.quota)}`]]),
    pool.instances.length === 0 ? element("p", {}, "It has no instance; a lease brings one up.")
      : table(`Instances of ${pool.name}`, ["Instance", "State", "Quota", "Backends", "Leases", "Address", "Reason"],
        pool.instances.map((one) => instanceRow(one, pool, leases))));
}

/** \param now  in milliseconds since 1970 */
function left(lease, now) {
  const seconds = Math.round((Date.parse(lease.expires_at) - now) / 1000);
  if (!LIVES.includes(lease.state)) return "–";
  if (seconds < 0) return "ends now";
  const [minutes, hours] = [Math.floor(seconds / 60), Math.floor(seconds / 3600)];
  const text = hours > 0 ? `${hours} h ${minutes % 60} min` : minutes > 0 ? `${minutes} min ${seconds % 60} s` : `${seconds} s`;
  return element("time", {dateTime: lease.expires_at, title: lease.expires_at}, text);
}

const use = (lease) => (lease.use === undefined ? "–" : `${number(lease.use.requests)} requests, ${number(lease.use.busy, 2)} s of each second`);
const path = (lease, rest = "") => `/v2/leases/${encodeURIComponent(lease.id)}${rest}`;

function leaseActs(lease, told) {
  if (!LIVES.includes(lease.state)) return "–";
  const of = lease.name || lease.id;
  return element("span", {className: "acts"},
    actButton({...told, text: "Renew", of, key: `renew ${lease.id}`, question: ["Let the lease ", name(of), " last for its duration again, from now on?"],
               ask: () => post(path(lease, "/renew"), {}, told.signal)}),
    actButton({...told, text: "Release", of, key: `release ${lease.id}`, question: ["Unload the models of the lease ", name(of), " and end it?"],
               ask: () => remove(path(lease), told.signal)}));
}

const leaseRow = (lease, acts, told) => [name(lease.name ? `${lease.name} (${lease.id})` : lease.id), name(lease.pool), state(lease.state), number(lease.quota), lease.instance || "–",
  element("ul", {}, ...lease.models.map((model) => element("li", {}, name(model.name), ": ", state(model.state), model.reason ? ", " : "", name(model.reason)))),
  left(lease, Date.now()), use(lease), name(lease.reason ?? ""), ...(acts ? [leaseActs(lease, told)] : [])];

/** A form that asks where a lease would go; nothing is changed by it. */
function dryRun(signal) {
  const field = (id, title, more = {}) => [element("input", {id, required: true, maxLength: 4096, ...more}), title];
  const [quota, model, source] = [field("quota", "Quota", {type: "number", min: 1, value: "1"}), field("model", "Model"), field("source", "Its model repository")];
  const pools = element("select", {id: "pool"});
  const outcome = element("div", {role: "status", id: "plan"});
  const form = element("form", {}, element("div", {className: "row"}, element("label", {}, "Pool", pools),
    ...[quota, model, source].map(([made, title]) => element("label", {}, title, made)), element("button", {type: "submit", id: "try"}, "Try")), outcome);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      const plan = await post("/v2/leases?dry_run=true", {pool: pools.value, quota: Number(quota[0].value), duration: "1h",
        models: [{name: model[0].value, source: source[0].value}]}, signal);
      const where = plan.instance === null ? ["It would be refused: ", name(plan.reason)]
        : [plan.starts_instance ? "A new instance would be started for it: " : "It would be on the instance ", plan.instance, "."];
      outcome.replaceChildren(element("p", {}, ...where), ...(plan.instances.length === 0 ? [] : [
        table("What each instance says", ["Instance", "Used", "Free", "Why not"],
          plan.instances.map((one) => [one.name, number(one.used), number(one.free), name(one.reason || "it could have it")]))]));
    } catch (error) {
      if (!signal.aborted) outcome.replaceChildren(element("p", {className: "error"}, error.message));
    }
  });
  const section = element("section", {}, element("h3", {}, "Where would a lease go?"), element("p", {className: "note"}, "This is a dry run: nothing is changed by it."), form);
  let known = "";
  const offer = (names) => {
    if (names.join("\n") === known) return;
    known = names.join("\n");
    const chosen = pools.value;
    pools.replaceChildren(...names.map((one) => element("option", {value: one}, one)));
    if (names.includes(chosen)) pools.value = chosen;
  };
  return {section, offer};
}

export async function show(view, signal, status) {
  view.append(element("h2", {}, "Pools"));
  let acts = false;
  try {
    acts = await mayAct(signal);
  } catch (error) {
    if (!signal.aborted) status(error);
    return;
  }
  if (signal.aborted) return;
  const said = element("p", {role: "status", id: "said"});
  const list = element("div", {});
  const held = element("section", {});
  const form = dryRun(signal);
  view.append(list, said, held, form.section, ...(acts ? [] : [readsOnly()]));
  let again = () => {};
  const told = {said, signal, done: () => again()};
  again = poll(async () => {
    const [{pools}, {leases}] = await Promise.all([get("/v2/pools", signal), get("/v2/leases", signal)]);
    if (signal.aborted) return;
    form.offer(pools.map((pool) => pool.name));
    list.replaceChildren(...(pools.length === 0 ? [element("p", {}, "There is no pool yet.")] : pools.map((pool) => poolSection(pool, leases))));
    const heads = ["Lease", "Pool", "State", "Quota", "Instance", "Models", "Time left", "Use", "Reason", ...(acts ? ["Acts"] : [])];
    keepFocus(held, () => held.replaceChildren(element("h3", {}, "Leases"),
      leases.length === 0 ? element("p", {}, "There is no lease.") : table("Leases", heads, leases.map((lease) => leaseRow(lease, acts, told)))));
  }, EVERY_MS, signal, status);
}
