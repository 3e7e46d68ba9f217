"""pb_utils.ModelConfig: what auto_complete_config() gets and gives back."""

import json
import operator

from .arguments import integer

_INPUT_KEYS = ("name", "data_type", "dims", "optional")
_OUTPUT_KEYS = ("name", "data_type", "dims")
_OTHER_SCHEDULERS = ("sequence_batching", "ensemble_scheduling")


class ModelConfig:
    """Only adds to what the configuration says; what contradicts it is a ValueError."""

    def __init__(self, model_config):
        self._model_config = json.loads(model_config) if isinstance(model_config, (str, bytes)) else model_config

    def as_dict(self):
        return self._model_config

    def set_max_batch_size(self, max_batch_size):
        max_batch_size = integer(max_batch_size, "set_max_batch_size() expects max_batch_size")
        configured = self._model_config.get("max_batch_size", 0)
        if configured > max_batch_size:
            raise ValueError(f"configuration specified max_batch_size {configured}, but in auto-complete-config function for model "
                             f"'{self._name()}' specified max_batch_size {max_batch_size}")
        self._model_config["max_batch_size"] = max_batch_size

    def set_dynamic_batching(self):
        for choice in _OTHER_SCHEDULERS:
            if choice in self._model_config:
                raise ValueError(f"Configuration specified scheduling_choice as '{choice}', but auto-complete-config function for "
                                 f"model '{self._name()}' tries to set scheduling_choice as 'dynamic_batching'")
        self._model_config.setdefault("dynamic_batching", {})

    def add_input(self, input):
        self._add("input", dict(input), _INPUT_KEYS, "'name', 'data_type', 'dims' and 'optional'.")

    def add_output(self, output):
        self._add("output", dict(output), _OUTPUT_KEYS, "'name', 'data_type' and 'dims'.")

    def set_model_transaction_policy(self, transaction_policy_dict):
        for key in transaction_policy_dict:
            if key != "decoupled":
                raise ValueError(f"model transaction property in auto-complete-config function for model '{self._name()}' contains "
                                 f"property other than 'decoupled'. It has '{key}'.")
        policy = self._model_config.setdefault("model_transaction_policy", {})
        wanted = transaction_policy_dict.get("decoupled", False)
        if "decoupled" in policy and policy["decoupled"] != wanted:
            raise ValueError(f"trying to change decoupled property in auto-complete-config for model '{self._name()}', which is "
                             f"already set to '{policy['decoupled']}'.")
        policy["decoupled"] = wanted

    def _name(self):
        return self._model_config.get("name", "")

    def _add(self, kind, tensor, keys, allowed):
        where = f"in auto-complete-config function for model '{self._name()}'"
        for key in tensor:
            if key not in keys:
                raise ValueError(f"{kind} '{tensor.get('name', '')}' {where} contains property other than {allowed} "
                                 f"It has '{key}'.")
        if "name" not in tensor:
            raise ValueError(f"{kind} {where} is missing 'name' property.")
        for key in ("data_type", "dims"):
            if key not in tensor:
                raise ValueError(f"{kind} '{tensor['name']}' {where} is missing '{key}' property.")
        tensor["dims"] = self._dims(tensor["dims"], f"{kind} '{tensor['name']}' {where}")
        tensors = self._model_config.setdefault(kind, [])
        for configured in tensors:
            if configured.get("name") == tensor["name"]:
                self._fill(kind, configured, tensor)
                return
        tensors.append(tensor)

    @staticmethod
    def _dims(dims, where):
        """NumPy's numbers too, as they come from the shapes of arrays."""
        try:
            return [operator.index(dim) for dim in dims]
        except TypeError:
            raise ValueError(f"{where} has the property 'dims' as {dims!r}, where a list of integers is expected.") from None

    def _fill(self, kind, configured, tensor):
        name = tensor["name"]
        datatype = configured.get("data_type", "TYPE_INVALID")
        if datatype == "TYPE_INVALID":
            configured["data_type"] = tensor["data_type"]
        elif datatype != tensor["data_type"]:
            raise ValueError(f"unable to load model '{self._name()}', configuration expects datatype {datatype} for {kind} '{name}', "
                             f"model provides {tensor['data_type']}")
        dims = configured.get("dims") or []
        if not dims:
            configured["dims"] = tensor["dims"]
        elif list(dims) != list(tensor["dims"]):
            raise ValueError(f"model '{self._name()}', tensor '{name}': the model expects dims {tensor['dims']} but the model "
                             f"configuration specifies dims {dims}")
        if "optional" not in tensor:
            return
        if configured.setdefault("optional", tensor["optional"]) != tensor["optional"]:
            raise ValueError(f"model '{self._name()}', tensor '{name}': the model expects optional {tensor['optional']} but the model "
                             f"configuration specifies optional {configured['optional']}")


def to_plain(value, where):
    """What a configuration is made of, wherever the model has put something else of the same value: arrays, NumPy's numbers, tuples."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, dict):
        return {str(key): to_plain(entry, f"{where}.{key}" if where else str(key)) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_plain(entry, f"{where}[{index}]") for index, entry in enumerate(value)]
    if isinstance(value, bytes):
        return str(value, "utf-8", "replace")
    if hasattr(value, "tolist") and not isinstance(value.tolist(), type(value)):
        return to_plain(value.tolist(), where)
    raise ValueError(f"the property '{where}' is a {type(value).__name__}, which no configuration can have")
