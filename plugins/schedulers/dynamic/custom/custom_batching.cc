#include "schedulers/dynamic/custom/custom_batching.h"

#include <exception>
#include <string>
#include <utility>

#include "atoll/proto/model_config_json.h"
#include "atoll/triton/request.h"
#include "atoll/triton/status.h"

namespace atl::schedulers {
namespace {

constexpr const char* kBatcherInitialize = "TRITONBACKEND_ModelBatcherInitialize";
constexpr const char* kBatcherFinalize = "TRITONBACKEND_ModelBatcherFinalize";
constexpr const char* kBatchInitialize = "TRITONBACKEND_ModelBatchInitialize";
constexpr const char* kIncludeRequest = "TRITONBACKEND_ModelBatchIncludeRequest";
constexpr const char* kBatchFinalize = "TRITONBACKEND_ModelBatchFinalize";

/// Stands for the record of a strategy that keeps none, because null stands for a failure.
char no_record;

}  // namespace

Result<std::unique_ptr<CustomBatching>> CustomBatching::open(const SchedulerContext& context,
                                                             const std::string& path, Log& log) noexcept {
  try {
    return open_file(context, path, log);
  } catch (const std::exception& exception) {
    return internal_error("batching strategy: ", exception.what());
  }
}

Result<std::unique_ptr<CustomBatching>> CustomBatching::open_file(const SchedulerContext& context,
                                                                  const std::string& path, Log& log) {
  std::unique_ptr<CustomBatching> batching(new CustomBatching(context, path, log));
  triton::make_global();
  Result<runtime::SharedObject> object = runtime::SharedObject::open(path);
  if (!object.ok()) {
    return make_status(object.status().code(),
                       "unable to load batching strategy: ", object.status().message());
  }
  batching->object_ = std::move(object).value();
  bool has_none = false;
  ATOLL_RETURN_IF_ERROR(batching->find_functions(path, &has_none));
  if (has_none) {
    log.warning("model '", context.model_name, "': ", path,
                " defines no custom batching function; it is not used");
    return std::unique_ptr<CustomBatching>();
  }
  ATOLL_RETURN_IF_ERROR(batching->initialize(path, context.config));
  log.info("model '", context.model_name, "' version ", context.model_version, ": batching strategy ", path);
  return batching;
}

CustomBatching::CustomBatching(const SchedulerContext& context, std::string_view path, Log& log)
    : log_(log),
      failures_(log, *context.clock, cat("model '", context.model_name, "': batching strategy ", path)),
      model_{context.model_name,
             static_cast<uint64_t>(context.model_version),
             context.model_directory,
             {},
             nullptr},
      log_scope_(log) {}

CustomBatching::~CustomBatching() {
  if (!initialized_) return;
  Status status = triton::call(functions_.batcher_finalize, batcher_);
  if (!status.ok()) failures_.add(kBatcherFinalize, status);
}

Status CustomBatching::find_functions(const std::string& path, bool* has_none) {
  std::string missing;
  int found = 0;
  auto find = [&](const char* name, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(object_.symbol(name));
    if (function != nullptr) {
      ++found;
    } else {
      missing += cat(missing.empty() ? "" : ", ", name);
    }
  };
  find(kBatcherInitialize, functions_.batcher_initialize);
  find(kBatcherFinalize, functions_.batcher_finalize);
  find(kBatchInitialize, functions_.batch_initialize);
  find(kIncludeRequest, functions_.include_request);
  find(kBatchFinalize, functions_.batch_finalize);
  *has_none = found == 0;
  if (missing.empty() || *has_none) return {};
  log_.error("model '", model_.name, "': ", path, " has no function ", missing);
  return invalid_argument(path, " does not define all required custom batching functions for model ",
                          model_.name);
}

Status CustomBatching::initialize(const std::string& path, std::string_view config) {
  Result<std::string> json = proto::model_config_json(config);
  if (!json.ok()) return std::move(json).status();
  model_.config_json = std::move(json).value();
  Status status = triton::call(functions_.batcher_initialize, &batcher_, &model_);
  if (!status.ok()) {
    return make_status(status.code(), "batching strategy ", path, ": ", kBatcherInitialize, ": ",
                       status.message());
  }
  initialized_ = true;
  return {};
}

void* CustomBatching::begin() noexcept {
  void* record = nullptr;
  Status status = triton::call(functions_.batch_initialize, batcher_, &record);
  if (!status.ok()) {
    failures_.add(kBatchInitialize, status);
    return nullptr;
  }
  return record == nullptr ? &no_record : record;
}

bool CustomBatching::include(Request& request, void* record) noexcept {
  if (record == nullptr) return false;
  bool should_include = false;
  triton::RequestView view(request);
  Status status = triton::call(functions_.include_request, view.handle(),
                               record == &no_record ? nullptr : record, &should_include);
  if (status.ok()) return should_include;
  failures_.add(kIncludeRequest, status);
  return false;
}

void CustomBatching::end(void* record) noexcept {
  if (record == nullptr) return;
  Status status = triton::call(functions_.batch_finalize, record == &no_record ? nullptr : record);
  if (!status.ok()) failures_.add(kBatchFinalize, status);
}

}  // namespace atl::schedulers
