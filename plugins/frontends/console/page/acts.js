// Loads and unloads: POST /v2/repository/models/NAME/load and unload, after a question.
import {control} from "./api.js";
import {element, name} from "./dom.js";

/** Asks whether it is meant. \returns a promise of a yes or no */
function confirmed(act, model) {
  const button = (text, value) => element("button", {type: "button", value, onclick: () => dialog.close(value)}, text);
  const dialog = element("dialog", {"aria-label": `${act} a model`},
    element("p", {}, act === "load" ? "Load the model " : "Take out of service all versions of the model ", name(model), "?"),
    element("div", {className: "row"}, button(act === "load" ? "Load" : "Unload", "yes"), button("Cancel", "no")));
  document.body.append(dialog);
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
    dialog.showModal();
  });
}

/** \param model  an entry of the list \param said  where the outcome is told \param done  called when it is over */
export function actButtons(model, said, signal, done) {
  const button = (act, text) => {
    const made = element("button", {type: "button", className: "act", "aria-label": `${text} ${model.name}`}, text);
    made.dataset.key = `${act} ${model.name} ${model.version}`;
    made.addEventListener("click", async () => {
      if (!await confirmed(act, model.name)) return;
      said.className = "";
      said.replaceChildren(`${act} of `, name(model.name), " …");
      made.disabled = true;
      try {
        await control(act, model.name, signal);
        said.replaceChildren(`${act} of `, name(model.name), ": done");
      } catch (error) {
        if (signal.aborted) return;
        said.className = "error";
        said.replaceChildren(`${act} of `, name(model.name), `: ${error.message}`);
      }
      made.disabled = false;
      done();
    });
    return made;
  };
  const isServing = model.state === "READY" || model.state === "LOADING";
  return element("span", {className: "acts"}, button("load", isServing ? "Load again" : "Load"),
    ...(isServing ? [button("unload", "Unload")] : []));
}
