#include "models/catalog/requests/reshape.h"

#include "atoll/request/sink_interposer.h"

namespace atl::models {
namespace {

class ReshapeSink final : public SinkInterposer {
 public:
  explicit ReshapeSink(const ModelInfo* info) noexcept : info_(info) {}

  Status allocate(Response& response, OutputTensor& output, uint64_t size_bytes, MemoryKind preferred_kind,
                  int64_t preferred_device_id) noexcept override {
    if (const TensorSpec* spec = find(output); spec != nullptr && spec->has_reshape) {
      output.shape =
          reshaped(output.shape, spec->reshape, spec->dims, info_->max_batch_size != 0, response.arena());
    }
    return SinkInterposer::allocate(response, output, size_bytes, preferred_kind, preferred_device_id);
  }

 private:
  const TensorSpec* find(const OutputTensor& output) const noexcept {
    for (const TensorSpec& spec : info_->outputs) {
      if (spec.name == output.name) return &spec;
    }
    return nullptr;
  }

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
  request.arena().make<ReshapeSink>(&info)->interpose(request);
}

void remove_output_reshape(Request& request) noexcept {
  static_cast<ReshapeSink*>(request.sink)->withdraw(request);
}

}  // namespace atl::models
