#include "models/catalog/loading/backend_choice.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "atoll/lib/near_name.h"

namespace atl::models {
namespace {

/// The backends of this tree by the names that their instances usually have. backends/triton is not among them: it serves backends
/// of other names.
constexpr std::string_view kPlugins[] = {"cuda",   "identity", "llamacpp", "onnxruntime", "openvino",
                                         "python", "pytorch",  "repeat",   "tensorflow"};

/// What the operator can do. If an enabled backend was probably meant, its name; else the table of the manifest that adds the backend
/// that was probably meant, or one of the given name.
std::string advice(const std::vector<ServiceInfo>& backends, std::string_view name) {
  std::vector<std::string_view> known;
  for (const ServiceInfo& info : backends) known.push_back(info.instance);
  if (std::string enabled = lib::near_name(name, known); !enabled.empty()) return enabled;
  const std::string_view meant = lib::nearest_name(name, kPlugins);
  const std::string_view plugin = meant.empty() ? name : meant;
  return cat(meant.empty() ? std::string(". A table of the manifest adds one")
                           : cat(", did you mean '", meant, "'? A table of the manifest adds it"),
             ": [plugin.", plugin, "] with use = \"backends/", plugin, "\"");
}

/// The reference text first, then what there is.
Status no_backend(const std::vector<ServiceInfo>& backends, std::string_view name) {
  std::string found;
  for (const ServiceInfo& info : backends) {
    found += cat(found.empty() ? "" : ", ", "'", info.instance, "'");
  }
  return invalid_argument("unable to find backend library for backend '", name,
                          "', try specifying runtime on the model configuration. Enabled backends: ",
                          found.empty() ? std::string_view("none") : std::string_view(found),
                          advice(backends, name));
}

/// With no service: nobody does. Errors: of the first who says why the model cannot be run.
Result<ChosenBackend> backend_of_any_name(Registry& registry, std::vector<ServiceInfo> backends,
                                          const ModelSource& source) {
  std::stable_sort(backends.begin(), backends.end(),
                   [](const ServiceInfo& a, const ServiceInfo& b) { return a.rank > b.rank; });
  Status reason;
  for (const ServiceInfo& info : backends) {
    if (info.minor < Backend::kAnyNameMinor) continue;
    Result<Service<Backend>> found = registry.find<Backend>(info.instance);
    if (!found.ok()) continue;  // it has just gone; when the next one comes, the model is tried again
    Result<bool> serves = (*found)->serves(source);
    if (serves.ok() && *serves) return ChosenBackend{info.instance, std::move(found).value()};
    if (!serves.ok() && reason.ok()) reason = std::move(serves).status();
  }
  if (!reason.ok()) return reason;
  return ChosenBackend{};
}

}  // namespace

Result<ChosenBackend> choose_backend(Registry& registry, const ModelSource& source, const std::string& name) {
  // An empty one would stand for any.
  Result<Service<Backend>> named = registry.find<Backend>(name.empty() ? "(none)" : name);
  if (named.ok()) return ChosenBackend{name, std::move(named).value()};
  if (named.status().code() != Code::kNotFound) return std::move(named).status();
  std::vector<ServiceInfo> backends = registry.list(Backend::kInterfaceId);
  if (!name.empty()) {
    Result<ChosenBackend> other = backend_of_any_name(registry, backends, source);
    if (!other.ok() || other->service) return other;
  }
  return no_backend(backends, name);
}

}  // namespace atl::models
