"""Charts as Helm renders them, as far as those of this tree need it: fields, `if`, `else` and `end`, and a few functions. Anything else is an
error here, so that a chart cannot use what its tests do not see."""

import json
import pathlib
import re

import yaml

ACTION = re.compile(r"(\s*)\{\{(-?)\s*(.*?)\s*(-?)\}\}(\s*)", re.S)
WORD = re.compile(r'"[^"]*"|\S+')


class NotRendered(Exception):
    pass


def _call(name, arguments):
    match name, arguments:
        case "toJson", [value]:
            return json.dumps(value, separators=(",", ":"), sort_keys=True)
        case "quote", [value]:
            return json.dumps(str(value))
        case "nindent", [count, text]:
            return "".join(f"\n{' ' * count}{line}" for line in text.split("\n"))
        case "default", [otherwise, value]:
            return value or otherwise
    raise NotRendered(f"the function '{name}' with {len(arguments)} arguments")


def _value(word, context):
    if word.startswith('"'):
        return json.loads(word)
    if re.fullmatch(r"-?\d+", word):
        return int(word)
    if not re.fullmatch(r"(\.\w+)+", word):
        raise NotRendered(word)
    value = context
    for name in word[1:].split("."):
        if not isinstance(value, dict) or name not in value:
            raise NotRendered(f"{word}: there is no '{name}'")
        value = value[name]
    return value


def _evaluate(pipeline, context):
    passed = []
    for stage in pipeline.split(" | "):
        first, *others = WORD.findall(stage)
        if first.startswith((".", '"')) and not others and not passed:
            passed = [_value(first, context)]
        else:
            passed = [_call(first, [_value(word, context) for word in others] + passed)]
    return passed[0]


def _pieces(text):
    """Texts and actions by turns, the whitespace that an action trims taken away."""
    pieces, begin, trims = [], 0, False
    for action in ACTION.finditer(text):
        before = text[begin:action.start()] + action[1]
        if trims:
            before = before.lstrip()
        pieces.append(before.rstrip() if action[2] else before)
        pieces.append(action[3])
        trims, begin = bool(action[4]), action.end() - len(action[5])
    rest = text[begin:]
    return [*pieces, rest.lstrip() if trims else rest]


def render(template, context):
    shown, output = [], []  # whether each open `if` shows what it has now
    for index, piece in enumerate(_pieces(template)):
        if index % 2 == 0:
            if all(shown):
                output.append(piece)
        elif piece.startswith("if "):
            shown.append(bool(_evaluate(piece[3:], context)) if all(shown) else False)
        elif piece == "else":
            shown[-1] = not shown[-1]
        elif piece == "end":
            shown.pop()
        elif all(shown):
            value = _evaluate(piece, context)
            if isinstance(value, (dict, list)) or value is None:
                raise NotRendered(f"{piece}: a {type(value).__name__} as text")
            output.append(str(value))
    assert shown == [], "an 'if' without 'end'"
    return "".join(output)


def merged(values, over):
    """As Helm does: tables by their members."""
    if not isinstance(values, dict) or not isinstance(over, dict):
        return over
    return {**values, **{name: merged(values.get(name), value) for name, value in over.items()}}


def render_chart(folder, release, namespace, values=None):
    """The documents of all templates."""
    folder = pathlib.Path(folder)
    context = {"Values": merged(yaml.safe_load((folder / "values.yaml").read_text()), values or {}),
               "Chart": yaml.safe_load((folder / "Chart.yaml").read_text()),
               "Release": {"Name": release, "Namespace": namespace, "Service": "Helm"}}
    texts = [render(path.read_text(), context) for path in sorted((folder / "templates").glob("*.yaml"))]
    return [document for text in texts for document in yaml.safe_load_all(text) if document]
