// Acts: a button, a question, a call, and what came of it.
import {control} from "./api.js";
import {element, name} from "./dom.js";

/** Asks whether it is meant. \param label  of the question, short \param yes  on the button \returns a promise of a yes or no */
function confirmed(label, yes, question) {
  const button = (text, value) => element("button", {type: "button", value, onclick: () => dialog.close(value)}, text);
  const dialog = element("dialog", {"aria-label": label}, element("p", {}, ...question),
    element("div", {className: "row"}, button(yes, "yes"), button("Cancel", "no")));
  document.body.append(dialog);
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
    dialog.showModal();
  });
}

/**
 * \param text  on the button; `of` names the subject, `question` is a list of texts and elements
 * \param ask   makes the call
 * \param said  where the outcome is told \param done  called when it is over
 */
export function actButton({text, of, key, question, ask, said, signal, done}) {
  const act = text.split(" ")[0].toLowerCase();
  const made = element("button", {type: "button", className: "act", "aria-label": `${text} ${of}`}, text);
  made.dataset.key = key;
  made.addEventListener("click", async () => {
    if (!await confirmed(`${act} ${of}`, text.split(" ")[0], question)) return;
    said.className = "";
    said.replaceChildren(`${act} of `, name(of), " …");
    made.disabled = true;
    try {
      await ask();
      said.replaceChildren(`${act} of `, name(of), ": done");
    } catch (error) {
      if (signal.aborted) return;
      said.className = "error";
      said.replaceChildren(`${act} of `, name(of), `: ${error.message}`);
    }
    made.disabled = false;
    done();
  });
  return made;
}

/** Loads and unloads: POST /v2/repository/models/NAME/load and unload. \param model  an entry of the list */
export function actButtons(model, said, signal, done) {
  const button = (act, text, question) => actButton({
    text, of: model.name, key: `${act} ${model.name} ${model.version}`, question: [question, name(model.name), "?"],
    ask: () => control(act, model.name, signal), said, signal, done});
  const isServing = model.state === "READY" || model.state === "LOADING";
  return element("span", {className: "acts"}, button("load", isServing ? "Load again" : "Load", "Load the model "),
    ...(isServing ? [button("unload", "Unload", "Take out of service all versions of the model ")] : []));
}
