#include "backends/openvino/compiled_model.h"

#include <charconv>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include "atoll/core/text.h"

namespace atl::openvino {
namespace {

constexpr char kDevice[] = "CPU";

/// A property that is a number; -1: it cannot be read as one.
int64_t number_property(const OvCompiledModel& model, const char* key) {
  char* text = nullptr;
  if (api().ov_compiled_model_get_property(&model, key, &text) != 0 || text == nullptr) return -1;
  int64_t value = -1;
  std::from_chars(text, text + std::strlen(text), value);
  api().ov_free(text);
  return value;
}

/// Whether the library itself says that runs are made by the calling thread, or by several threads. Anything else is run apart.
bool is_run_apart(const OvCompiledModel& model) {
  return number_property(model, "NUM_STREAMS") != 0 && number_property(model, "INFERENCE_NUM_THREADS") < 2;
}

}  // namespace

Result<std::unique_ptr<OvCompiled>> OvCompiled::make(const OvCore& core, Handle<OvModel> model,
                                                     const OvModelPlan& plan, const OvSettings& settings,
                                                     Log& log) noexcept {
  std::unique_ptr<OvCompiled> made(new OvCompiled(core, std::move(model), plan, settings, log));
  auto first = made->compile();
  if (!first.ok()) return std::move(first).status();
  made->current_ = std::move(first).value();
  made->compilations_ = made->current_->number;
  if (!plan.is_variable) made->model_.reset();
  return made;
}

Result<std::shared_ptr<OvCompilation>> OvCompiled::compile() const {
  std::vector<OvProperty> properties;
  for (const auto& [key, value] : settings_.properties) properties.push_back({key.c_str(), value.c_str()});
  auto compiled = std::make_shared<OvCompilation>();
  ATOLL_RETURN_IF_ERROR(openvino::make(compiled->model, api().ov_core_compile_model_props, &core_,
                                       static_cast<const OvModel*>(model_.get()), kDevice, properties.size(),
                                       properties.data()));
  const OvCompiledModel* const raw = compiled->model.get();
  for (const OvInputPlan& input : plan_.inputs) {
    ATOLL_RETURN_IF_ERROR(openvino::make(compiled->inputs.emplace_back(),
                                         api().ov_compiled_model_input_by_name, raw, input.port.c_str()));
  }
  for (const OvOutputPlan& output : plan_.outputs) {
    ATOLL_RETURN_IF_ERROR(openvino::make(compiled->outputs.emplace_back(),
                                         api().ov_compiled_model_output_by_name, raw, output.port.c_str()));
  }
  compiled->is_run_apart = is_run_apart(*raw);
  compiled->number = compilations_ + 1;
  return compiled;
}

std::shared_ptr<const OvCompilation> OvCompiled::current() const noexcept {
  std::lock_guard lock(mutex_);
  return current_;
}

std::shared_ptr<const OvCompilation> OvCompiled::note_shapes(uint64_t shapes_hash) noexcept {
  // Held while it is compiled, too: who has a known shape waits, but nobody compiles it twice.
  std::lock_guard lock(mutex_);
  const bool is_full = current_->shapes.size() >= settings_.shapes_kept;
  if (is_full && !current_->shapes.contains(shapes_hash)) {
    auto next = compile();
    if (next.ok()) {
      log_.debug("model '", plan_.model_name, "' was compiled again, after runs with ",
                 current_->shapes.size(), " different input shapes");
      current_ = std::move(next).value();
      compilations_.store(current_->number, std::memory_order_release);
    } else {
      log_.warning("model '", plan_.model_name, "' cannot be compiled again, and keeps the memory of ",
                   current_->shapes.size(), " input shapes: ", next.status().message());
      current_->shapes.clear();  // not tried again with each run
    }
  }
  current_->shapes.insert(shapes_hash);
  return current_;
}
}  // namespace atl::openvino
