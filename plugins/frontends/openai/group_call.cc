#include "frontends/openai/group_call.h"

#include <cstring>
#include <utility>

#include "atoll/core/guarded.h"
#include "frontends/openai/model_role.h"

namespace atl::frontends::openai {
namespace {

constexpr uint8_t kFlagBytes[] = {0, 1};

/// A shape with one element.
std::span<const int64_t> one_element(Request& request, const ModelInfo& model, const TensorSpec& spec) {
  const std::vector<int64_t> ones(spec.dims.size() + (model.max_batch_size > 0 ? 1 : 0), 1);
  return request.arena().copy(std::span<const int64_t>(ones));
}

void add_input(Request& request, const ModelInfo& model, const TensorSpec& spec, const void* data,
               uint64_t bytes) {
  InputTensor& input = request.add_input();
  input.name = spec.name;
  input.datatype = spec.datatype;
  input.shape = one_element(request, model, spec);
  auto* const buffer = request.arena().make<Buffer>();
  buffer->data = const_cast<void*>(data);
  buffer->size_bytes = bytes;
  input.buffers = {buffer, 1};
  input.size_bytes = bytes;
}

}  // namespace

Result<ModelRef> OpenAiContext::find(const std::string& name) const noexcept {
  const auto alias = aliases.find(name);
  return router.route(catalog, alias == aliases.end() ? name : alias->second, ModelCatalog::kLatest);
}

void answer_error(HttpExchange& exchange, const ApiError& error) noexcept {
  Result<std::string> json =
      guarded("writing the error", [&]() -> Result<std::string> { return error.json(); });
  const std::string wait_ms = cat(error.retry_after_ms), wait_s = cat((error.retry_after_ms + 999) / 1000);
  const HttpHeader headers[] = {{"retry-after-ms", wait_ms}, {"Retry-After", wait_s}};
  exchange.answer({.status = error.status,
                   .content_type = kJsonType,
                   .headers = std::span(headers, error.retry_after_ms == 0 ? 0 : 2)},
                  json.ok() ? std::move(json).value() : std::string());
}

GroupCall::GroupCall(OpenAiContext& context, HttpExchange& exchange, CallOrigin head, ModelRef model,
                     Pass pass)
    : context_(context),
      exchange_(exchange),
      pass_(std::move(pass)),
      model_(std::move(model)),
      head_(std::move(head)),
      link_{&all_, nullptr} {
  parent_.tenant = head_.tenant;
  if (auto tracing = context_.tracing.hold(); tracing && tracing->active()) {
    parent_.trace =
        tracing->start({info().name, info().version, parent_.id, head_.traceparent, head_.tracestate});
  }
}

GroupCall::~GroupCall() {
  if (parent_.trace != nullptr) parent_.trace->release();
}

void GroupCall::add_flag(Request& request, const ModelInfo& model, std::string_view name,
                         bool value) noexcept {
  const TensorSpec* const spec = input_of(model, name);
  if (spec != nullptr && spec->datatype == DataType::kBool)
    add_input(request, model, *spec, &kFlagBytes[value ? 1 : 0], sizeof kFlagBytes[0]);
}

void GroupCall::add_text(Request& request, const ModelInfo& model, std::string_view name,
                         const std::string& encoded) noexcept {
  const TensorSpec* const spec = input_of(model, name);
  if (spec != nullptr && spec->datatype == DataType::kBytes)
    add_input(request, model, *spec, encoded.data(), encoded.size());
}

void GroupCall::add_wanted(Request& request, const ModelInfo& model, std::string_view name) noexcept {
  if (const TensorSpec* const spec = output_of(model, name); spec != nullptr)
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
  model_->add_reference();
  inner.infer(ModelRef(model_.get()));
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
