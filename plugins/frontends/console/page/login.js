// Logging in with a key, and out: POST /v2/console/login and logout.
import {post} from "./api.js";
import {element} from "./dom.js";

const KNOWN = "atoll-console-caller";

/** Who has logged in with this browser; empty: nobody, as far as is known. */
export const caller = () => localStorage.getItem(KNOWN) || "";

/** \param again  called when somebody has logged in */
export function showLogin(view, signal, again) {
  const key = element("input", {type: "password", id: "key", autocomplete: "off", required: true, spellcheck: false});
  const said = element("p", {role: "alert", className: "error", id: "said"});
  const form = element("form", {},
    element("p", {}, "This server asks who calls. A key with the permission console.read opens the console for 8 hours at most."),
    element("div", {className: "row"}, element("label", {}, "Key", key), element("button", {type: "submit", id: "login"}, "Log in")), said);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      const answer = await post("/v2/console/login", {token: key.value.trim()}, signal);
      localStorage.setItem(KNOWN, answer.caller);
      again();
    } catch (error) {
      if (signal.aborted) return;
      key.value = "";
      key.focus();
      said.textContent = error.status === 404 ? "404: this server lets nobody log in; see security/sessions in its manual." : error.message;
    }
  });
  localStorage.removeItem(KNOWN);
  view.replaceChildren(element("h2", {}, "Log in"), form);
  key.focus();
}

export async function logout(signal) {
  localStorage.removeItem(KNOWN);
  await post("/v2/console/logout", {}, signal);
}
