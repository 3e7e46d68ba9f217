#include "backends/openvino/ov_run.h"

#include <algorithm>
#include <utility>

#include "atoll/core/text.h"

namespace atl::openvino {
namespace {

OvShape shape_of(std::span<const int64_t> shape) {
  // The library reads dimensions, and does not write them.
  return {static_cast<int64_t>(shape.size()), const_cast<int64_t*>(shape.data())};
}

}  // namespace

Result<std::unique_ptr<OvRun>> OvRun::make(std::shared_ptr<const OvCompilation> on,
                                           const OvModelPlan& plan) noexcept {
  std::unique_ptr<OvRun> made(new OvRun(std::move(on), plan));
  const OvCompilation& compiled = *made->on_;
  ATOLL_RETURN_IF_ERROR(openvino::make(made->request_, api().ov_compiled_model_create_infer_request,
                                       static_cast<const OvCompiledModel*>(compiled.model.get())));
  const OvInferRequest* const raw = made->request_.get();
  const auto get = [&](const Handle<OvPort>& port, std::vector<Tensor>& tensors) {
    return openvino::make(tensors.emplace_back().own, api().ov_infer_request_get_tensor_by_const_port, raw,
                          static_cast<const OvPort*>(port.get()));
  };
  for (size_t i = 0; i < compiled.inputs.size(); ++i) {
    ATOLL_RETURN_IF_ERROR(get(compiled.inputs[i], made->inputs_));
    if (!plan.inputs[i].has_rank || std::ranges::find(plan.inputs[i].dims, -1) != plan.inputs[i].dims.end())
      continue;
    ATOLL_RETURN_IF_ERROR(made->read_view(made->inputs_.back()));
  }
  for (const Handle<OvPort>& port : compiled.outputs) ATOLL_RETURN_IF_ERROR(get(port, made->outputs_));
  return made;
}

Status OvRun::read_view(Tensor& tensor) noexcept {
  OvShape shape = {0, nullptr};
  ATOLL_RETURN_IF_ERROR(check(api().ov_tensor_get_shape(tensor.own.get(), &shape)));
  tensor.view.shape.assign(shape.dims, shape.dims + shape.rank);
  api().ov_shape_free(&shape);
  tensor.view.data = nullptr;
  // A tensor without elements may have no memory, and the library then has an error instead of an address.
  if (std::ranges::find(tensor.view.shape, 0) != tensor.view.shape.end()) return {};
  return check(api().ov_tensor_data(tensor.own.get(), &tensor.view.data));
}

Result<void*> OvRun::shape_input(size_t i, std::span<const int64_t> shape) noexcept {
  Tensor& tensor = inputs_[i];
  if (tensor.borrowed != nullptr) {
    ATOLL_RETURN_IF_ERROR(check(api().ov_infer_request_set_tensor_by_const_port(
        request_.get(), on_->inputs[i].get(), tensor.own.get())));
    tensor.borrowed.reset();
  }
  if (tensor.view.data != nullptr && std::ranges::equal(tensor.view.shape, shape)) return tensor.view.data;
  ATOLL_RETURN_IF_ERROR(check(api().ov_tensor_set_shape(tensor.own.get(), shape_of(shape))));
  ATOLL_RETURN_IF_ERROR(read_view(tensor));
  return tensor.view.data;
}

Status OvRun::use_input(size_t i, std::span<const int64_t> shape, void* data) noexcept {
  Tensor& tensor = inputs_[i];
  Handle<OvTensor> borrowed;
  ATOLL_RETURN_IF_ERROR(openvino::make(borrowed, api().ov_tensor_create_from_host_ptr,
                                       plan_.inputs[i].element_type, shape_of(shape), data));
  ATOLL_RETURN_IF_ERROR(check(
      api().ov_infer_request_set_tensor_by_const_port(request_.get(), on_->inputs[i].get(), borrowed.get())));
  tensor.borrowed = std::move(borrowed);
  return {};
}

Status OvRun::run() noexcept {
  OvInferRequest* const raw = request_.get();
  if (!on_->is_run_apart) return check(api().ov_infer_request_infer(raw));
  ATOLL_RETURN_IF_ERROR(check(api().ov_infer_request_start_async(raw)));
  return check(api().ov_infer_request_wait(raw));
}

Result<const OvView*> OvRun::output(size_t i) noexcept {
  Tensor& tensor = outputs_[i];
  ATOLL_RETURN_IF_ERROR(read_view(tensor));
  return static_cast<const OvView*>(&tensor.view);
}

}  // namespace atl::openvino
