#include "frontends/openai/model_profile.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <span>

#include "atoll/core/text.h"
#include "model_config.pb.h"

namespace atl::frontends::openai {
namespace {

/// More than any server has loaded at a time; those of older loads go with the rest.
constexpr size_t kMostProfiles = 16'384;

struct RoleName {
  Role role;
  std::string_view name, plural, needs;
};
constexpr RoleName kRoleNames[] = {
    {Role::kChat, "chat", "chats", "the input 'text_input' and the output 'text_output'"},
    {Role::kCompletion, "completion", "completions", "the input 'text_input' and the output 'text_output'"},
    {Role::kEmbedding, "embedding", "embeddings", "the input 'text_input' and the output 'embedding'"},
    {Role::kRerank, "rerank", "rerank", "the inputs 'query' and 'documents' and the output 'scores'"},
    {Role::kClassify, "classify", "classify", "the input 'text_input' and the outputs 'label' and 'score'"},
};
const RoleName& entry_of(Role role) noexcept {
  return *std::find_if(std::begin(kRoleNames), std::end(kRoleNames),
                       [&](const RoleName& one) { return one.role == role; });
}

constexpr std::string_view kTextTensors[] = {kTextInput, kMessages, kChatOptions, kSamplingParameters};
constexpr std::string_view kFlagTensors[] = {
    kStream, kExcludeInput, kReturnInputTokens, kReturnOutputTokens, kReturnFinishReason, kReturnLogprobs};
constexpr std::string_view kTensorNames[] = {
    kTextInput, kTokenIds,    kMessages,     kChatOptions,  kSamplingParameters,
    kQuery,     kDocuments,   kTextOutput,   kEmbedding,    kScores,
    kLabel,     kScore,       kLogprobs,     kPromptIds,    kPromptText,
    kStream,    kInputTokens, kOutputTokens, kCachedTokens, kFinishReason};

bool is_listed(std::string_view name, std::span<const std::string_view> names) noexcept {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Whether one value of the input can be given.
bool is_one_value(const TensorSpec& spec) noexcept {
  return std::all_of(spec.dims.begin(), spec.dims.end(), [](int64_t dim) { return dim == 1 || dim == -1; });
}

bool is_floating(const TensorSpec* spec) noexcept {
  return spec != nullptr && (spec->datatype == DataType::kFp32 || spec->datatype == DataType::kFp64);
}
bool is_text(const TensorSpec* spec) noexcept {
  return spec != nullptr && spec->datatype == DataType::kBytes;
}

const TensorSpec* find(const std::vector<TensorSpec>& specs, std::string_view name) noexcept {
  const auto found =
      std::find_if(specs.begin(), specs.end(), [&](const TensorSpec& spec) { return spec.name == name; });
  return found == specs.end() ? nullptr : &*found;
}

std::string_view trimmed(std::string_view text) noexcept {
  const size_t begin = std::min(text.find_first_not_of(" \t\n"), text.size());
  text.remove_prefix(begin);
  const size_t last = text.find_last_not_of(" \t\n");
  return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

}  // namespace

std::string_view role_name(Role role) noexcept { return entry_of(role).name; }
std::string_view role_needs(Role role) noexcept { return entry_of(role).needs; }

ModelProfile::ModelProfile(const ModelInfo& model, ToolSyntax fallback) : tool_syntax_(fallback) {
  uint32_t named = 0;
  if (inference::ModelConfig config; !model.config.empty() && config.ParseFromString(model.config)) {
    const auto text_of = [&](const char* key) {
      const auto found = config.parameters().find(key);
      return found == config.parameters().end() ? std::string() : found->second.string_value();
    };
    if (const std::string listed = text_of("openai"); !listed.empty()) named = read_parameter(listed);
    if (const std::string syntax = text_of("tool_call_parser"); !syntax.empty()) {
      if (const auto known = tool_syntax_of(syntax)) {
        tool_syntax_ = *known;
      } else {
        problem_ =
            cat("the parameter 'tool_call_parser' is '", syntax, "', expected hermes, llama3 or mistral");
      }
    }
  }
  if (!problem_.empty()) return;
  for (const RoleName& one : kRoleNames) {
    const auto bit = static_cast<uint32_t>(one.role);
    if (!can(model, one.role)) {
      if ((named & bit) != 0) problem_ = cat("the role '", one.name, "' needs ", one.needs);
    } else if (named == 0 || (named & bit) != 0) {
      roles_ |= bit;
    }
  }
}

uint32_t ModelProfile::read_parameter(const std::string& text) {
  uint32_t roles = 0;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t comma = std::min(text.find(',', begin), text.size());
    const std::string_view item = trimmed(std::string_view(text).substr(begin, comma - begin));
    begin = comma + 1;
    if (item.empty()) continue;
    if (item == "none") {
      roles |= uint32_t{1} << 31;  // no model can do this
      continue;
    }
    if (const size_t equals = item.find('='); equals != std::string_view::npos) {
      const std::string_view name = trimmed(item.substr(0, equals)), own = trimmed(item.substr(equals + 1));
      if (!is_listed(name, kTensorNames) && !is_listed(name, kFlagTensors)) {
        problem_ = cat("the parameter 'openai' names the tensor '", name, "', which no role has");
        return 0;
      }
      own_names_.emplace_back(name, own);
      continue;
    }
    const auto role = std::find_if(std::begin(kRoleNames), std::end(kRoleNames), [&](const RoleName& one) {
      return item == one.name || item == one.plural;
    });
    if (role == std::end(kRoleNames)) {
      problem_ = cat("the parameter 'openai' names the role '", item,
                     "', expected chat, completion, embedding, rerank, classify or none");
      return 0;
    }
    roles |= static_cast<uint32_t>(role->role);
  }
  return roles;
}

std::string_view ModelProfile::own_name(std::string_view name) const noexcept {
  for (const auto& [known, own] : own_names_) {
    if (known == name) return own;
  }
  return name;
}

const TensorSpec* ModelProfile::input(const ModelInfo& model, std::string_view name) const noexcept {
  return find(model.inputs, own_name(name));
}
const TensorSpec* ModelProfile::output(const ModelInfo& model, std::string_view name) const noexcept {
  return find(model.outputs, own_name(name));
}

bool ModelProfile::can(const ModelInfo& model, Role role) const noexcept {
  const bool ranks = role == Role::kRerank;
  const auto is_input = [&](const TensorSpec& spec, std::string_view name) {
    return spec.name == own_name(name);
  };
  const auto is_given = [&](const TensorSpec& spec) {
    const auto named = [&](std::string_view name) { return is_input(spec, name); };
    if (ranks && is_input(spec, kDocuments)) return spec.datatype == DataType::kBytes;
    if (!is_one_value(spec)) return false;
    if (ranks && is_input(spec, kQuery)) return spec.datatype == DataType::kBytes;
    if (!ranks && std::any_of(std::begin(kTextTensors), std::end(kTextTensors), named))
      return spec.datatype == DataType::kBytes;
    return spec.datatype == DataType::kBool &&
           std::any_of(std::begin(kFlagTensors), std::end(kFlagTensors), named);
  };
  for (const TensorSpec& spec : model.inputs) {
    if (!spec.optional && !is_given(spec)) return false;
  }
  if (ranks)
    return is_text(input(model, kQuery)) && is_text(input(model, kDocuments)) &&
           is_floating(output(model, kScores));
  if (!is_text(input(model, kTextInput))) return false;
  switch (role) {
    case Role::kChat:
    case Role::kCompletion:
      return is_text(output(model, kTextOutput));
    case Role::kEmbedding:
      return is_floating(output(model, kEmbedding));
    default:
      return is_text(output(model, kLabel)) && is_floating(output(model, kScore));
  }
}

std::shared_ptr<const ModelProfile> ModelProfiles::of(const ModelInfo& model) {
  // 0: the load has no number of its own.
  if (model.load_id != 0) {
    std::shared_lock lock(mutex_);
    if (const auto found = by_load_.find(model.load_id); found != by_load_.end()) return found->second;
  }
  auto made = std::make_shared<const ModelProfile>(model, fallback_);
  if (model.load_id == 0) return made;
  std::unique_lock lock(mutex_);
  // Load numbers ascend, so the first are those of versions that are gone, most likely.
  if (by_load_.size() >= kMostProfiles) by_load_.erase(by_load_.begin());
  return by_load_.emplace(model.load_id, std::move(made)).first->second;
}

}  // namespace atl::frontends::openai
