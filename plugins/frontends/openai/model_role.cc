#include "frontends/openai/model_role.h"

#include <algorithm>
#include <iterator>
#include <vector>

namespace atl::frontends::openai {
namespace {

const TensorSpec* find(const std::vector<TensorSpec>& specs, std::string_view name) noexcept {
  const auto found =
      std::find_if(specs.begin(), specs.end(), [&](const TensorSpec& spec) { return spec.name == name; });
  return found == specs.end() ? nullptr : &*found;
}

/// Whether one value of the input can be given.
bool is_one_value(const TensorSpec& spec) noexcept {
  return std::all_of(spec.dims.begin(), spec.dims.end(), [](int64_t dim) { return dim == 1 || dim == -1; });
}

bool is_given(const TensorSpec& spec) noexcept {
  constexpr std::string_view kTexts[] = {kTextInput, kMessages, kSamplingParameters};
  constexpr std::string_view kFlags[] = {kStream, kExcludeInput, kReturnInputTokens, kReturnOutputTokens,
                                         kReturnFinishReason};
  const auto is_named = [&](std::string_view name) { return name == spec.name; };
  return is_one_value(spec) &&
         ((spec.datatype == DataType::kBytes &&
           std::any_of(std::begin(kTexts), std::end(kTexts), is_named)) ||
          (spec.datatype == DataType::kBool && std::any_of(std::begin(kFlags), std::end(kFlags), is_named)));
}

bool is_floating(DataType type) noexcept { return type == DataType::kFp32 || type == DataType::kFp64; }

}  // namespace

const TensorSpec* input_of(const ModelInfo& model, std::string_view name) noexcept {
  return find(model.inputs, name);
}
const TensorSpec* output_of(const ModelInfo& model, std::string_view name) noexcept {
  return find(model.outputs, name);
}

Role role_of(const ModelInfo& model) noexcept {
  const TensorSpec* const text = input_of(model, kTextInput);
  if (text == nullptr || text->datatype != DataType::kBytes) return Role::kNone;
  for (const TensorSpec& input : model.inputs) {
    if (!input.optional && !is_given(input)) return Role::kNone;
  }
  const TensorSpec* const answer = output_of(model, kTextOutput);
  if (answer != nullptr && answer->datatype == DataType::kBytes) return Role::kText;
  const TensorSpec* const vector = output_of(model, kEmbedding);
  return vector != nullptr && is_floating(vector->datatype) ? Role::kEmbedding : Role::kNone;
}

}  // namespace atl::frontends::openai
