// Elements. Texts become text nodes and nothing else: names of models come from outside.

export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("aria-") || name === "role" || name === "for" || name === "scope") made.setAttribute(name, value);
    else made[name] = value;
  }
  made.append(...children.map((child) => (child instanceof Node ? child : document.createTextNode(String(child)))));
  return made;
}

/** A name from outside, whatever its direction is. */
export const name = (text) => element("bdi", {}, text);

/** A state as a word, and in its colour. */
export const state = (text) => element("strong", {className: `state-${text.replace(/[^A-Z]/g, "")}`}, text);

const keyed = (made, key) => {
  made.dataset.key = key;
  return made;
};

/** Replaces what is inside `place`; what had the focus there has it again, if it has a `data-key`, and tables stay where they were moved to. */
export function keepFocus(place, replace) {
  const key = place.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  const moved = new Map([...place.querySelectorAll(".scroll")].map((one) => [one.dataset.key, one.scrollLeft]));
  replace();
  for (const one of place.querySelectorAll(".scroll")) one.scrollLeft = moved.get(one.dataset.key) ?? 0;
  if (key !== undefined) [...place.querySelectorAll("[data-key]")].find((one) => one.dataset.key === key)?.focus();
}

/** rows: lists of texts and elements */
export function table(caption, heads, rows) {
  return keyed(element("div", {className: "scroll", tabIndex: 0, role: "region", "aria-label": caption},
    element("table", {},
      element("thead", {}, element("tr", {}, ...heads.map((head) => element("th", {scope: "col"}, head)))),
      element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map((cell) => element("td", {}, cell))))))), `table ${caption}`);
}

/** Says why there is nothing to press. */
export const readsOnly = () => element("p", {className: "note"},
  "The server does not know who calls, so the console only reads. With a source of identities, such as security/keys, it acts, too.");

/** A part of a whole as a bar, and in words. \param most  0: it has no limit */
export const share = (value, most, words) => element("span", {className: "share"},
  ...(most > 0 ? [element("meter", {max: most, value: Math.min(value, most), "aria-label": words}), " "] : []), words);

/** A link to the page of a version of a model. */
export const modelLink = (model, version) =>
  keyed(element("a", {href: `#/model/${encodeURIComponent(model)}/${encodeURIComponent(version)}`}, name(model)), `model ${model} ${version}`);

/** A list of named figures. */
export const cards = (pairs) => element("dl", {className: "cards"},
  ...pairs.map(([title, value]) => element("div", {className: "card"}, element("dt", {}, title), element("dd", {}, value))));

export function number(value, digits = 1) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  return value.toLocaleString("en", {maximumFractionDigits: digits});
}

export function bytes(value) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  for (; value >= 1024 && unit < units.length - 1; ++unit) value /= 1024;
  return `${number(value)} ${units[unit]}`;
}
