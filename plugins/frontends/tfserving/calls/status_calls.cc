#include "frontends/tfserving/calls/status_calls.h"

#include <charconv>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "atoll/core/text.h"
#include "atoll/lib/json_writer.h"
#include "frontends/tfserving/request/tensor_requests.h"

namespace atl::frontends::tfserving {
namespace {

/// Highest first, as TensorFlow Serving lists them.
using Versions = std::map<int64_t, ModelIndexEntry, std::greater<>>;

/// The state's name in TensorFlow Serving; empty: the version was never loaded.
std::string_view state_of(const ModelIndexEntry& entry) noexcept {
  if (entry.state == model_state_name(ModelState::kReady)) return "AVAILABLE";
  if (entry.state == model_state_name(ModelState::kLoading)) return "LOADING";
  if (entry.state == model_state_name(ModelState::kUnloading)) return "UNLOADING";
  if (entry.state == model_state_name(ModelState::kUnavailable)) return "END";
  return entry.state.empty() ? "" : "UNKNOWN";
}

/// Whether the version has ended by a failure. What was unloaded on purpose has not.
bool has_failed(const ModelIndexEntry& entry) noexcept {
  return state_of(entry) == "END" && !entry.reason.empty() && entry.reason != "unloaded";
}

Result<Versions> versions_of(const RestContext& context, const CallTarget& target, const CallOrigin& origin) {
  const Result<int64_t> wanted = context.version_of(target, origin);
  if (!wanted.ok()) return wanted.status().clone();
  Result<std::vector<ModelIndexEntry>> index = context.catalog.index(/*ready_only=*/false);
  if (!index.ok()) return std::move(index).status();
  Versions versions;
  for (ModelIndexEntry& entry : index.value()) {
    int64_t version = 0;
    const char* const end = entry.version.data() + entry.version.size();
    if (entry.name != target.model || !origin.may_use(entry.name) || state_of(entry).empty() ||
        std::from_chars(entry.version.data(), end, version).ec != std::errc())
      continue;
    if (wanted.value() == ModelCatalog::kLatest || wanted.value() == version)
      versions.emplace(version, std::move(entry));
  }
  if (!versions.empty()) return versions;
  if (wanted.value() == ModelCatalog::kLatest)
    return not_found("Could not find any versions of model ", target.model);
  return not_found("Could not find version ", wanted.value(), " of model ", target.model);
}

std::string_view type_name(DataType type) noexcept {
  constexpr std::string_view kNames[] = {"DT_INVALID", "DT_BOOL",  "DT_UINT8",  "DT_UINT16", "DT_UINT32",
                                         "DT_UINT64",  "DT_INT8",  "DT_INT16",  "DT_INT32",  "DT_INT64",
                                         "DT_HALF",    "DT_FLOAT", "DT_DOUBLE", "DT_STRING", "DT_BFLOAT16"};
  const auto index = static_cast<uint32_t>(type);
  return index < kDataTypeCount ? kNames[index] : kNames[0];
}

void write_tensors(CheckedWriter& json, std::string_view key, const std::vector<TensorSpec>& specs,
                   bool batches) {
  write_object(json, key, [&] {
    for (const TensorSpec& spec : specs) {
      write_object(json, spec.name, [&] {
        write_member(json, "dtype", type_name(spec.datatype));
        write_object(json, "tensor_shape", [&] {
          std::vector<int64_t> dims = spec.backend_dims();
          if (batches && !spec.shape_tensor) dims.insert(dims.begin(), -1);
          write_array(json, "dim", dims, [&](int64_t dim) {
            write_object(json, [&] {
              write_member(json, "size", std::to_string(dim));
              write_member(json, "name", "");
            });
          });
          write_member(json, "unknown_rank", false);
        });
        write_member(json, "name", spec.name);
      });
    }
  });
}

}  // namespace

Result<std::string> model_status_json(const RestContext& context, const CallTarget& target,
                                      const CallOrigin& origin) {
  Result<Versions> versions = versions_of(context, target, origin);
  if (!versions.ok()) return std::move(versions).status();
  return object_json([&](CheckedWriter& json) {
    bool is_ready = false;
    write_array(json, "model_version_status", versions.value(), [&](const Versions::value_type& version) {
      const ModelIndexEntry& entry = version.second;
      is_ready = is_ready || state_of(entry) == "AVAILABLE";
      write_object(json, [&] {
        write_member(json, "version", entry.version);
        write_member(json, "state", state_of(entry));
        write_object(json, "status", [&] {
          write_member(json, "error_code", has_failed(entry) ? "UNKNOWN" : "OK");
          write_member(json, "error_message", has_failed(entry) ? std::string_view(entry.reason) : "");
        });
      });
    });
    if (!context.has_kserve_status) return;
    write_member(json, "name", target.model);
    write_member(json, "ready", is_ready);
  });
}

Result<std::string> metadata_json(const RestContext& context, const CallTarget& target,
                                  const CallOrigin& origin) {
  const Result<ModelRef> found = context.find(target, origin);
  if (!found.ok()) return found.status().clone();
  const ModelInfo& model = found.value().get()->info();
  const bool batches = model.max_batch_size > 0;
  return object_json([&](CheckedWriter& json) {
    write_object(json, "model_spec", [&] {
      write_member(json, "name", model.name);
      write_member(json, "signature_name", "");
      write_member(json, "version", model.version_text);
    });
    write_object(json, "metadata", [&] {
      write_object(json, "signature_def", [&] {
        write_object(json, "signature_def", [&] {
          write_object(json, signature_of(model), [&] {
            write_tensors(json, "inputs", model.inputs, batches);
            write_tensors(json, "outputs", model.outputs, batches);
            write_member(json, "method_name", "tensorflow/serving/predict");
          });
        });
      });
    });
  });
}

Result<std::string> models_json(const RestContext& context, const CallOrigin& origin) {
  Result<std::vector<ModelIndexEntry>> index = context.catalog.index(/*ready_only=*/true);
  if (!index.ok()) return std::move(index).status();
  std::set<std::string> names;
  for (ModelIndexEntry& entry : index.value()) {
    if (origin.may_use(entry.name)) names.insert(std::move(entry.name));
  }
  return object_json([&](CheckedWriter& json) {
    write_array(json, "models", names, [&](const std::string& name) { write_text(json, name); });
  });
}

}  // namespace atl::frontends::tfserving
