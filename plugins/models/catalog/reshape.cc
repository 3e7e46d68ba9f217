#include "reshape.h"

#include "atoll/request.h"

namespace atl::models {
namespace {

/// Passes everything on; the only thing it changes is an output's shape.
class ReshapeSink final : public ResponseSink {
 public:
  ReshapeSink(ResponseSink* next, const ModelInfo* info) noexcept : next_(next), info_(info) {}

  ResponseSink* next() const noexcept { return next_; }

  Response* new_response() noexcept override {
    Response* response = next_->new_response();
    response->sink = this;
    return response;
  }

  Status allocate(Response& response, OutputTensor& output, uint64_t size_bytes, MemoryKind preferred_kind,
                  int64_t preferred_device_id) noexcept override {
    if (const TensorSpec* spec = find(output); spec != nullptr && spec->has_reshape) {
      output.shape =
          reshaped(output.shape, spec->reshape, spec->dims, info_->max_batch_size != 0, response.arena());
    }
    return next_->allocate(response, output, size_bytes, preferred_kind, preferred_device_id);
  }

  void send(Response* response, uint32_t flags) noexcept override {
    if (response != nullptr) response->sink = next_;
    next_->send(response, flags);
  }

  void discard(Response* response) noexcept override {
    response->sink = next_;
    next_->discard(response);
  }

  void released(Request& request) noexcept override {
    ResponseSink* next = next_;
    request.sink = next;
    next->released(request);
  }

 private:
  const TensorSpec* find(const OutputTensor& output) const noexcept {
    for (const TensorSpec& spec : info_->outputs) {
      if (spec.name == output.name) return &spec;
    }
    return nullptr;
  }

  ResponseSink* next_;
  const ModelInfo* info_;
};

}  // namespace

std::span<const int64_t> reshaped(std::span<const int64_t> shape, std::span<const int64_t> from,
                                  std::span<const int64_t> to, bool batched, Arena& arena) noexcept {
  size_t batch_dims = batched ? 1 : 0;
  if (shape.size() != from.size() + batch_dims) return shape;
  auto* result = arena.make_array<int64_t>(to.size() + batch_dims);
  if (batched) result[0] = shape[0];
  size_t variable = 0;  // position in `from`
  for (size_t i = 0; i < to.size(); ++i) {
    int64_t dim = to[i];
    if (dim == -1) {
      while (variable < from.size() && from[variable] != -1) ++variable;
      if (variable == from.size()) return shape;
      dim = shape[variable++ + batch_dims];
    }
    result[i + batch_dims] = dim;
  }
  return {result, to.size() + batch_dims};
}

void interpose_output_reshape(Request& request, const ModelInfo& info) noexcept {
  request.sink = request.arena().make<ReshapeSink>(request.sink, &info);
}

void remove_output_reshape(Request& request) noexcept {
  request.sink = static_cast<ReshapeSink*>(request.sink)->next();
}

}  // namespace atl::models
