#include "frontends/tfserving/request/tensor_requests.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <utility>

#include "atoll/core/text.h"
#include "atoll/lib/json_depth.h"
#include "model_config.pb.h"

namespace atl::frontends::tfserving {
namespace {

/// Lists in an object in a list: more than kMaxRank fits below, and less than would be a burden to anybody.
constexpr size_t kMostLevels = kMaxRank + 8;

std::string_view text_of(const CheckedValue& value) noexcept {
  return {value.GetString(), value.GetStringLength()};
}

const CheckedValue* member(const CheckedValue& object, const char* name) noexcept {
  const auto found = object.FindMember(name);
  return found == object.MemberEnd() ? nullptr : &found->value;
}

bool is_named_values(const CheckedValue& value) noexcept { return value.IsObject() && !is_base64(value); }

Status parse(std::string_view body, CheckedDocument& document) {
  if (is_json_deeper_than(body, kMostLevels))
    return invalid_argument("JSON Parse error: more than ", kMostLevels, " levels of objects and lists");
  // NaN and Infinity are numbers in this API.
  constexpr unsigned kFlags =
      rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag | rapidjson::kParseNanAndInfFlag;
  document.Parse<kFlags>(body.data(), body.size());
  if (document.HasParseError())
    return invalid_argument("JSON Parse error: invalid value at offset: ", document.GetErrorOffset());
  if (!document.IsObject()) return invalid_argument("JSON Value is not formatted as an object");
  return {};
}

Status check_signature(const CheckedValue& body, const ModelInfo& model) {
  const CheckedValue* const given = member(body, "signature_name");
  if (given == nullptr) return {};
  if (!given->IsString()) return invalid_argument("'signature_name' key must be a string value");
  const std::string_view name = text_of(*given);
  if (name.empty() || name == kDefaultSignature || name == signature_of(model)) return {};
  return invalid_argument("Serving signature name: \"", name, "\" not found in signature def: the model '",
                          model.name, "' has '", signature_of(model), "'");
}

/// The tensors of a request while they are read.
class InputSet {
 public:
  InputSet(const ModelInfo& model, uint64_t max_elements) : model_(model), budget_(max_elements) {}
  InputSet(const InputSet&) = delete;
  InputSet& operator=(const InputSet&) = delete;

  /// The one that values without a name are for. Errors: the model does not say which.
  Result<TensorBuilder*> unnamed() {
    const TensorSpec* only = nullptr;
    for (const TensorSpec& spec : model_.inputs) {
      if (spec.optional && model_.inputs.size() > 1) continue;
      if (only != nullptr)
        return invalid_argument("the model '", model_.name, "' has the inputs ", names(),
                                ": expected an object with values by their names");
      only = &spec;
    }
    if (only == nullptr)
      return invalid_argument("the model '", model_.name, "' needs its inputs by name: ", names());
    return &builder(*only);
  }
  Result<TensorBuilder*> named(std::string_view name) {
    for (const TensorSpec& spec : model_.inputs) {
      if (spec.name == name) return &builder(spec);
    }
    return invalid_argument("the model '", model_.name, "' has no input '", name, "', expected ", names());
  }
  /// Errors: an input is missing.
  Result<std::vector<GivenTensor>> finish() && {
    std::vector<GivenTensor> tensors;
    for (const TensorSpec& spec : model_.inputs) {
      const auto found = std::find_if(builders_.begin(), builders_.end(),
                                      [&](const Entry& entry) { return entry.spec == &spec; });
      if (found != builders_.end()) {
        tensors.push_back(std::move(found->builder).finish());
        complete_shape(spec, tensors.back().shape);
      } else if (!spec.optional) {
        return invalid_argument("the input '", spec.name, "' of the model '", model_.name, "' is missing");
      }
    }
    return tensors;
  }

 private:
  struct Entry {
    Entry(const TensorSpec& of, uint64_t& budget) : spec(&of), builder(of.name, of.datatype, budget) {}
    const TensorSpec* spec;
    TensorBuilder builder;
  };

  TensorBuilder& builder(const TensorSpec& spec) {
    for (Entry& entry : builders_) {
      if (entry.spec == &spec) return entry.builder;
    }
    return builders_.emplace_back(spec, budget_).builder;
  }
  std::string names() const {
    std::string text;
    for (const TensorSpec& spec : model_.inputs) text += cat(text.empty() ? "'" : ", '", spec.name, "'");
    return text;
  }
  /// TensorFlow has one number for each row where a configuration, which has no scalars, says [1].
  void complete_shape(const TensorSpec& spec, std::vector<int64_t>& shape) const {
    const size_t wanted = spec.dims.size() + (model_.max_batch_size > 0 && !spec.shape_tensor ? 1 : 0);
    if (shape.size() + 1 == wanted && spec.dims.back() == 1) shape.push_back(1);
    if (shape.size() == wanted + 1 && shape.size() > 1 && shape.back() == 1) shape.pop_back();
  }

  const ModelInfo& model_;
  uint64_t budget_;
  std::deque<Entry> builders_;
};

Status at_row(const Status& status, std::string_view list, int64_t row) {
  return Status(status.code(),
                cat("Failed to process element: ", row, " of '", list, "' list. Error: ", status.message()));
}

/// One row of objects: every input has to have a value in each.
Status add_object(const CheckedValue& object, int64_t row, InputSet& inputs) {
  for (const auto& [name, value] : object.GetObject()) {
    Result<TensorBuilder*> input = inputs.named(text_of(name));
    if (!input.ok()) return std::move(input).status();
    ATOLL_RETURN_IF_ERROR(input.value()->add_row(row, value));
  }
  return {};
}

Status read_instances(const CheckedValue& instances, InputSet& inputs) {
  if (!instances.IsArray() || instances.Empty())
    return invalid_argument("'instances' has to be a list with at least one element");
  const CheckedValue& first = instances[0];
  const bool has_names = is_named_values(first);
  int64_t row = 0;
  for (const CheckedValue& instance : instances.GetArray()) {
    const auto add = [&]() -> Status {
      if (is_named_values(instance) != has_names)
        return invalid_argument("expected ",
                                has_names ? "an object with values by name" : "a value without a name",
                                ", as in the first element");
      if (has_names && instance.MemberCount() != first.MemberCount())
        return invalid_argument("expected the ", first.MemberCount(), " inputs of the first element, found ",
                                instance.MemberCount());
      if (has_names) return add_object(instance, row, inputs);
      Result<TensorBuilder*> input = inputs.unnamed();
      return input.ok() ? input.value()->add_row(row, instance) : std::move(input).status();
    };
    if (Status status = add(); !status.ok()) return at_row(status, "instances", row);
    ++row;
  }
  return {};
}

Status read_columns(const CheckedValue& given, InputSet& inputs) {
  if (!is_named_values(given)) {
    Result<TensorBuilder*> input = inputs.unnamed();
    return input.ok() ? input.value()->set_all(given) : std::move(input).status();
  }
  for (const auto& [name, value] : given.GetObject()) {
    Result<TensorBuilder*> input = inputs.named(text_of(name));
    if (!input.ok()) return std::move(input).status();
    ATOLL_RETURN_IF_ERROR(input.value()->set_all(value));
  }
  return {};
}

/// The last elements may lack what the first had.
Status check_rows(const TensorRequest& request) {
  for (const GivenTensor& tensor : request.inputs) {
    if (tensor.shape.empty() || tensor.shape[0] != request.rows)
      return invalid_argument("the input '", tensor.name, "' has ",
                              tensor.shape.empty() ? 0 : tensor.shape[0],
                              " values, expected one for each of ", request.rows, " elements");
  }
  return {};
}

}  // namespace

std::string signature_of(const ModelInfo& model) {
  inference::ModelConfig config;
  if (model.config.empty() || !config.ParseFromString(model.config)) return std::string(kDefaultSignature);
  const auto found = config.parameters().find("TF_SIGNATURE_DEF");
  return found == config.parameters().end() || found->second.string_value().empty()
             ? std::string(kDefaultSignature)
             : found->second.string_value();
}

Result<TensorRequest> read_predict(std::string_view body, const ModelInfo& model, uint64_t max_elements) {
  CheckedDocument document;
  ATOLL_RETURN_IF_ERROR(parse(body, document));
  ATOLL_RETURN_IF_ERROR(check_signature(document, model));
  const CheckedValue* const instances = member(document, "instances");
  const CheckedValue* const columns = member(document, "inputs");
  if ((instances == nullptr) == (columns == nullptr))
    return invalid_argument(instances == nullptr
                                ? "Missing 'inputs' or 'instances' key"
                                : "Not formatted correctly: expected only one of 'inputs' and 'instances'");
  TensorRequest request;
  request.is_row = instances != nullptr;
  InputSet inputs(model, max_elements);
  ATOLL_RETURN_IF_ERROR(request.is_row ? read_instances(*instances, inputs) : read_columns(*columns, inputs));
  Result<std::vector<GivenTensor>> tensors = std::move(inputs).finish();
  if (!tensors.ok()) return std::move(tensors).status();
  request.inputs = std::move(tensors).value();
  if (!request.is_row) return request;
  request.rows = instances->Size();
  ATOLL_RETURN_IF_ERROR(check_rows(request));
  return request;
}

Result<TensorRequest> read_examples(std::string_view body, const ModelInfo& model, uint64_t max_elements) {
  CheckedDocument document;
  ATOLL_RETURN_IF_ERROR(parse(body, document));
  ATOLL_RETURN_IF_ERROR(check_signature(document, model));
  const CheckedValue* const examples = member(document, "examples");
  if (examples == nullptr || !examples->IsArray() || examples->Empty())
    return invalid_argument("'examples' has to be a list with at least one object");
  const CheckedValue* const context = member(document, "context");
  if (context != nullptr && !context->IsObject()) return invalid_argument("'context' has to be an object");
  InputSet inputs(model, max_elements);
  int64_t row = 0;
  for (const CheckedValue& example : examples->GetArray()) {
    const auto add = [&]() -> Status {
      if (!example.IsObject()) return invalid_argument("expected an object with features by name");
      ATOLL_RETURN_IF_ERROR(add_object(example, row, inputs));
      if (context == nullptr) return {};
      for (const auto& [name, value] : context->GetObject()) {
        if (example.HasMember(name)) continue;
        Result<TensorBuilder*> input = inputs.named(text_of(name));
        if (!input.ok()) return std::move(input).status();
        ATOLL_RETURN_IF_ERROR(input.value()->add_row(row, value));
      }
      return {};
    };
    if (Status status = add(); !status.ok()) return at_row(status, "examples", row);
    ++row;
  }
  Result<std::vector<GivenTensor>> tensors = std::move(inputs).finish();
  if (!tensors.ok()) return std::move(tensors).status();
  TensorRequest request;
  request.rows = examples->Size();
  request.inputs = std::move(tensors).value();
  ATOLL_RETURN_IF_ERROR(check_rows(request));
  return request;
}

}  // namespace atl::frontends::tfserving
