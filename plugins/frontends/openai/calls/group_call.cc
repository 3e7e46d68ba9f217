#include "frontends/openai/calls/group_call.h"

#include <cstring>
#include <utility>

#include "atoll/core/guarded.h"
#include "frontends/common/codec/wire_messages.h"

namespace atl::frontends::openai {
namespace {

constexpr uint8_t kFlagBytes[] = {0, 1};

/// A shape with so many elements in the last dimension, and one in all others.
std::span<const int64_t> shape_of(Request& request, const ModelInfo& model, const TensorSpec& spec,
                                  size_t count) {
  std::vector<int64_t> shape(spec.dims.size() + (model.max_batch_size > 0 ? 1 : 0), 1);
  if (!spec.dims.empty()) shape.back() = static_cast<int64_t>(count);
  return request.arena().copy(std::span<const int64_t>(shape));
}

void add_input(Request& request, const ModelInfo& model, const TensorSpec& spec, const void* data,
               uint64_t bytes, size_t count = 1) {
  InputTensor& input = request.add_input();
  input.name = spec.name;
  input.datatype = spec.datatype;
  input.shape = shape_of(request, model, spec, count);
  auto* const buffer = request.arena().make<Buffer>();
  buffer->data = const_cast<void*>(data);
  buffer->size_bytes = bytes;
  input.buffers = {buffer, 1};
  input.size_bytes = bytes;
}

}  // namespace

Result<ModelRef> OpenAiContext::find(const std::string& name) const noexcept {
  return router.route(catalog, model_of(name), ModelCatalog::kLatest);
}

std::variant<FoundModel, ApiError> find_model(OpenAiContext& context, const CallOrigin& head,
                                              const std::string& name, Role role) {
  if (!head.may_use(context.model_of(name))) return unknown_model(name);
  Result<ModelRef> found = context.find(name);
  if (!found.ok() && found.status().code() != Code::kNotFound) return error_of(found.status());
  if (!found.ok()) {
    ApiError error = unknown_model(name);
    if (found.status().message().ends_with("' has no available versions"))
      error.message =
          cat("The model '", name,
              "' has no version that serves: it is being loaded, was unloaded, or could not be loaded "
              "(POST /v2/repository/index has the reason).");
    else if (const auto alias = context.aliases.find(name); alias != context.aliases.end())
      error.message = cat("The model '", alias->second, "', which '", name,
                          "' stands for, does not exist or is not served.");
    return error;
  }
  FoundModel model{std::move(found).value(), nullptr};
  model.profile = context.profiles.of(model.info());
  if (model.profile->serves(role)) return model;
  if (!model.profile->problem().empty())
    return wrong_field("model", cat("The configuration of the model '", name,
                                    "' is wrong: ", model.profile->problem(), "."));
  return wrong_field("model", cat("The model '", name, "' is not served for '", role_name(role),
                                  "': it needs ", role_needs(role), "."));
}

void answer_error(HttpExchange& exchange, const ApiError& error, ErrorJson write) noexcept {
  Result<std::string> json =
      guarded("writing the error", [&]() -> Result<std::string> { return write(error); });
  const std::string wait_ms = cat(error.retry_after_ms), wait_s = cat((error.retry_after_ms + 999) / 1000);
  const HttpHeader headers[] = {{"retry-after-ms", wait_ms}, {"Retry-After", wait_s}};
  exchange.answer({.status = error.status,
                   .content_type = kJsonType,
                   .headers = std::span(headers, error.retry_after_ms == 0 ? 0 : 2)},
                  json.ok() ? std::move(json).value() : std::string());
}

GroupCall::GroupCall(OpenAiContext& context, HttpExchange& exchange, CallOrigin head, FoundModel model,
                     Pass pass)
    : context_(context),
      exchange_(exchange),
      pass_(std::move(pass)),
      model_(std::move(model)),
      head_(std::move(head)),
      link_{&all_, nullptr} {
  parent_.tenant = head_.tenant;
  if (auto tracing = context_.tracing.hold(); tracing && tracing->active()) {
    parent_.trace = tracing->start(
        {model_.info().name, model_.info().version, parent_.id, head_.traceparent, head_.tracestate});
  }
}

GroupCall::~GroupCall() {
  if (parent_.trace != nullptr) parent_.trace->release();
}

void GroupCall::add_flag(Request& request, std::string_view name, bool value) const noexcept {
  const TensorSpec* const spec = profile().input(model_.info(), name);
  if (spec != nullptr && spec->datatype == DataType::kBool)
    add_input(request, model_.info(), *spec, &kFlagBytes[value ? 1 : 0], sizeof kFlagBytes[0]);
}

void GroupCall::add_text(Request& request, std::string_view name, const std::string& encoded,
                         size_t count) const noexcept {
  const TensorSpec* const spec = profile().input(model_.info(), name);
  if (spec != nullptr && spec->datatype == DataType::kBytes)
    add_input(request, model_.info(), *spec, encoded.data(), encoded.size(), count);
}

void GroupCall::add_ids(Request& request, std::string_view name,
                        const std::vector<int32_t>& ids) const noexcept {
  const TensorSpec* const spec = profile().input(model_.info(), name);
  if (spec != nullptr && spec->datatype == DataType::kInt32)
    add_input(request, model_.info(), *spec, ids.data(), ids.size() * sizeof ids[0], ids.size());
}

void GroupCall::add_prompt(Request& request, const Prompt& prompt,
                           const std::string& encoded) const noexcept {
  if (prompt.has_ids) add_ids(request, kTokenIds, prompt.ids);
  const TensorSpec* const text = profile().input(model_.info(), kTextInput);
  if (!prompt.has_ids || (text != nullptr && !text->optional)) add_text(request, kTextInput, encoded);
}

void GroupCall::add_wanted(Request& request, std::string_view name) const noexcept {
  if (const TensorSpec* const spec = profile().output(model_.info(), name); spec != nullptr)
    request.add_output().name = spec->name;
}

std::string GroupCall::encoded(std::string_view text) {
  const auto size = static_cast<uint32_t>(text.size());
  std::string bytes(sizeof size, '\0');
  std::memcpy(bytes.data(), &size, sizeof size);
  return bytes += text;
}

void GroupCall::submit(InnerRequest& inner) noexcept {
  inner.of(parent_, all_);
  // It is a client's request, which nobody has admitted yet.
  inner.request.call_flags &= ~static_cast<uint32_t>(kIsStep);
  model_.model->add_reference();
  inner.infer(ModelRef(model_.model.get()));
}

void GroupCall::fail_with(const Status& status, uint32_t retry_after_ms) noexcept {
  if (status.code() == Code::kCancelled && context_.catalog.exiting())
    return fail(error_of(unavailable(messages::kCutByEnd)));
  fail(error_of(status, retry_after_ms));
}

void GroupCall::fail(ApiError error) noexcept {
  {
    std::lock_guard lock(mutex_);
    if (failure_) return;
    failure_ = std::move(error);
  }
  failed_.store(true, std::memory_order_release);
  all_.cancel();
}

void GroupCall::part_done() noexcept {
  if (open_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  exchange_.cancellation().unlink(link_);
  finish(failure_ ? &*failure_ : nullptr);
  // The pass goes last: with it the plugin may be stopped.
  const Pass pass = std::move(pass_);
  delete this;
}

}  // namespace atl::frontends::openai
