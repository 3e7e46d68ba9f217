#include "frontends/tfserving/calls/tensor_call.h"

#include <algorithm>
#include <utility>

#include "atoll/core/guarded.h"
#include "atoll/core/text.h"
#include "frontends/common/codec/wire_messages.h"
#include "frontends/tfserving/answer/error_answer.h"

namespace atl::frontends::tfserving {
namespace {

/// Requests that one call may become.
constexpr int64_t kMostItems = 1024;

std::string_view text_of(std::span<const std::byte> body) noexcept {
  return {reinterpret_cast<const char*>(body.data()), body.size()};
}

/// A model without scalars says [1] where TensorFlow has one number a row.
void drop_scalar_dims(const ModelInfo& model, std::vector<TakenTensor>& outputs) {
  for (TakenTensor& output : outputs) {
    for (const TensorSpec& spec : model.outputs) {
      const bool is_scalar = spec.has_reshape && spec.reshape.empty() && spec.dims.size() == 1;
      if (spec.name == output.name && is_scalar && !output.shape.empty() && output.shape.back() == 1)
        output.shape.pop_back();
    }
  }
}

}  // namespace

class TensorCall::Item final : public InnerRequest {
 public:
  explicit Item(TensorCall& call) : call_(call) {}
  virtual ~Item() = default;

  std::vector<TakenTensor> outputs;

 private:
  void on_response(Response* response, uint32_t) noexcept override {
    if (response == nullptr || call_.has_failed()) return;
    if (!response->error.ok()) return call_.fail(response->error.clone(), request.retry_after_ms);
    if (std::exchange(has_answered_, true))
      return call_.fail(unimplemented(
          "the model answers a request with more than one response, which this API has no form for"));
    Status status = guarded("reading the outputs", [&]() -> Status {
      for (const OutputTensor& output : response->outputs)
        ATOLL_RETURN_IF_ERROR(append_output(output, outputs));
      return {};
    });
    if (!status.ok()) call_.fail(std::move(status));
  }
  void on_end() noexcept override { call_.part_done(); }

  TensorCall& call_;
  bool has_answered_ = false;
};

void TensorCall::start(const RestContext& context, HttpExchange& exchange, const CallTarget& target,
                       CallOrigin origin, Pass pass) {
  Result<ModelRef> model = context.find(target, origin);
  if (!model.ok()) return answer_error(exchange, model.status());
  const ModelInfo& info = model.value().get()->info();
  const auto read = target.action == RestAction::kPredict ? &read_predict : &read_examples;
  Result<TensorRequest> request = read(text_of(exchange.body()), info, context.max_elements);
  if (!request.ok()) return answer_error(exchange, request.status());
  auto* const call = new TensorCall(context, exchange, target.action, std::move(request).value(),
                                    std::move(origin), std::move(model).value(), std::move(pass));
  call->run();
}

TensorCall::TensorCall(const RestContext& context, HttpExchange& exchange, RestAction action,
                       TensorRequest request, CallOrigin origin, ModelRef model, Pass pass)
    : context_(context),
      exchange_(exchange),
      pass_(std::move(pass)),
      action_(action),
      request_(std::move(request)),
      origin_(std::move(origin)),
      model_(std::move(model)),
      link_{&all_, nullptr} {
  parent_.tenant = origin_.tenant;
  if (auto tracing = context_.tracing.hold(); tracing && tracing->active()) {
    const ModelInfo& info = model_.get()->info();
    parent_.trace =
        tracing->start({info.name, info.version, parent_.id, origin_.traceparent, origin_.tracestate});
  }
}

TensorCall::~TensorCall() {
  if (parent_.trace != nullptr) parent_.trace->release();
}

Status TensorCall::make_items() {
  const auto batch = static_cast<int64_t>(model_.get()->info().max_batch_size);
  // All tensors of one length can be cut into batches; anything else the model judges.
  int64_t rows =
      request_.inputs.empty() || request_.inputs[0].shape.empty() ? 0 : request_.inputs[0].shape[0];
  for (const GivenTensor& tensor : request_.inputs) {
    if (tensor.shape.empty() || tensor.shape[0] != rows) rows = 0;
  }
  if (batch == 0 || rows <= batch) {
    make_item(0, rows, /*has_all=*/true);
    return {};
  }
  if ((rows + batch - 1) / batch > kMostItems)
    return invalid_argument("the request has ", rows, " rows, expected at most ", kMostItems * batch,
                            " for a model with a max_batch_size of ", batch);
  for (int64_t first = 0; first < rows; first += batch)
    make_item(first, std::min(batch, rows - first), false);
  return {};
}

void TensorCall::make_item(int64_t first, int64_t count, bool has_all) {
  Request& inner = items_.emplace_back(std::make_unique<Item>(*this))->request;
  for (const GivenTensor& tensor : request_.inputs) {
    const std::string_view bytes = has_all ? std::string_view(tensor.bytes) : tensor.rows(first, count);
    std::vector<int64_t> shape = tensor.shape;
    if (!has_all) shape[0] = count;
    InputTensor& input = inner.add_input();
    input.name = tensor.name;
    input.datatype = tensor.datatype;
    input.shape = inner.arena().copy(std::span<const int64_t>(shape));
    auto* const buffer = inner.arena().make<Buffer>();
    buffer->data = const_cast<char*>(bytes.data());
    buffer->size_bytes = bytes.size();
    input.buffers = {buffer, 1};
    input.size_bytes = bytes.size();
  }
}

void TensorCall::run() noexcept {
  Status made = guarded("making the requests", [&] { return make_items(); });
  exchange_.cancellation().link(link_);
  if (!made.ok()) {
    fail(std::move(made));
    items_.clear();
  }
  // One more than there are, so that the call stays until all are submitted.
  open_.store(items_.size() + 1, std::memory_order_relaxed);
  for (const std::unique_ptr<Item>& item : items_) {
    item->of(parent_, all_);
    // It is a client's request, which nobody has admitted yet.
    item->request.call_flags &= ~static_cast<uint32_t>(kIsStep);
    model_->add_reference();
    item->infer(ModelRef(model_.get()));
  }
  part_done();
}

void TensorCall::part_done() noexcept {
  if (open_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  exchange_.cancellation().unlink(link_);
  finish();
  // The pass goes last: with it the plugin may be stopped.
  const Pass pass = std::move(pass_);
  delete this;
}

void TensorCall::fail(Status status, uint32_t retry_after_ms) noexcept {
  if (status.code() == Code::kCancelled && context_.catalog.exiting())
    status = unavailable(messages::kCutByEnd);
  {
    std::lock_guard lock(mutex_);
    if (!failure_.status.ok()) return;
    failure_ = {std::move(status), retry_after_ms};
  }
  failed_.store(true, std::memory_order_release);
  all_.cancel();
}

void TensorCall::finish() noexcept {
  if (!failure_.status.ok()) return answer_error(exchange_, failure_.status, failure_.retry_after_ms);
  Result<std::string> text = guarded("writing the answer", [&] { return answer_text(); });
  model_.reset();
  answer_json(exchange_, std::move(text));
}

Result<std::string> TensorCall::answer_text() {
  const ModelInfo& model = model_.get()->info();
  std::vector<TakenTensor> outputs = std::move(items_[0]->outputs);
  for (size_t i = 1; i < items_.size(); ++i) {
    for (TakenTensor& more : items_[i]->outputs) ATOLL_RETURN_IF_ERROR(join(std::move(more), outputs));
  }
  if (action_ == RestAction::kClassify) return classify_json(outputs, model, request_.rows);
  if (action_ == RestAction::kRegress) return regress_json(outputs, request_.rows);
  drop_scalar_dims(model, outputs);
  return predict_json(outputs, request_.is_row, request_.rows);
}

}  // namespace atl::frontends::tfserving
