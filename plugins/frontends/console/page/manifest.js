// What a manifest would change, and the reload that applies it: GET /v2/console/manifest, POST /v2/console/manifest/check and /apply.
import {actButton} from "./acts.js";
import {get, post, postText} from "./api.js";
import {element, name, number, readsOnly, table} from "./dom.js";
import {valueText} from "./options.js";

const ASK_MS = 500;
const CHANGES = {added: "is added", removed: "is removed", replaced: "is made anew", changed: "goes on, with other options"};

const optionText = (option) => element("li", {}, element("code", {}, option.key), ": ", ...(option.secret ? ["a secret that is another one"]
  : [valueText(option.before, false, false), " becomes ", valueText(option.after, false, false)]));

const row = (one) => [name(one.name), name(one.plugin), element("span", {}, CHANGES[one.change] ?? one.change, one.why ? ` (${one.why})` : ""),
  element("ul", {}, ...one.options.map(optionText))];

/** What was found, as elements. */
function difference(found, of) {
  if (found.problems.length > 0)
    return [element("p", {className: "error"}, `${of} would be refused:`), element("ul", {className: "problems"}, ...found.problems.map((line) => element("li", {}, name(line))))];
  const is_same = found.instances.length === 0 && !found.own;
  return [element("p", {}, is_same ? `${of} changes nothing: it is what runs, generation ${number(found.generation)}.`
    : `${of} differs from what runs, generation ${number(found.generation)}:`),
    ...(found.own ? [element("p", {}, "[atoll] or [log] differs.")] : []),
    ...(found.instances.length === 0 ? [] : [table("What would change", ["Instance", "Plugin", "What happens", "Options"], found.instances.map(row))]),
    ...(found.unopened.length === 0 ? [] : [element("p", {className: "note"}, "New to the server, and so not looked into here: ", name(found.unopened.join(", ")),
      ". Their options, and whether all have the services that they need, are checked when the manifest is applied.")])];
}

/** Waits for the end of a reload, which the timeline tells. */
async function reloaded(since, signal) {
  for (;;) {
    const {entries} = await get(`/v2/console/timeline?since=${since}`, signal);
    const end = entries.findLast((entry) => entry.kind === "reload.applied" || entry.kind === "reload.refused");
    if (end?.kind === "reload.refused") throw new Error(`refused: ${end.reason}`);
    if (end !== undefined) return;
    await new Promise((resolve) => setTimeout(resolve, ASK_MS));
    signal.throwIfAborted();
  }
}

export async function show(view, signal, status) {
  view.append(element("h2", {}, "Manifest"));
  let caller;
  try {
    caller = await get("/v2/console/caller", signal);
  } catch (error) {
    if (!signal.aborted) status(error);
    return;
  }
  if (signal.aborted) return;
  const acts = caller.may_apply;
  const outcome = element("div", {role: "status", id: "difference"});
  const said = element("p", {role: "status", id: "said"});
  const compare = async (of, ask) => {
    try {
      const found = await ask();
      if (signal.aborted) return;
      outcome.replaceChildren(...difference(found, of));
      status(null);
    } catch (error) {
      if (!signal.aborted) outcome.replaceChildren(element("p", {className: "error"}, error.message));
      if (!signal.aborted && error.status === 401) status(error);
    }
  };
  const withFile = () => compare("The manifest's file", () => get("/v2/console/manifest", signal));
  const file = element("button", {type: "button", id: "file", onclick: withFile}, "Compare again");
  view.append(element("p", {className: "note"}, "A manifest is edited in its file; nothing here writes it."), outcome, element("div", {className: "row"}, file,
    ...(acts ? [actButton({text: "Apply the file", of: "the manifest's file", key: "apply", question: ["Read the manifest's file again, and apply it as it is now?"],
      ask: async () => reloaded((await post("/v2/console/manifest/apply", {}, signal)).since, signal), said, signal, done: withFile})] : [])), said);
  if (!caller.may_act) view.append(readsOnly());
  else if (!acts) view.append(element("p", {className: "note"}, "To compare a text, and to apply the file, a caller needs the permission console.act for the whole server."));
  else {
    const text = element("textarea", {id: "text", rows: 12, spellcheck: false, required: true});
    const form = element("form", {}, element("label", {}, "Text of a manifest", text),
      element("div", {className: "row"}, element("button", {type: "submit", id: "check"}, "Compare this text")));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      compare("The text", () => postText("/v2/console/manifest/check", text.value, signal));
    });
    view.append(element("section", {}, element("h3", {}, "Compare a text"), form));
  }
  await withFile();
}
