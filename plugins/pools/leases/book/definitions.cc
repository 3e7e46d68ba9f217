#include "pools/leases/book/definitions.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "atoll/core/utf8.h"
#include "atoll/lib/entry_name.h"
#include "pools/leases/book/mistakes.h"

namespace atl::pools {
namespace {

constexpr uint32_t kCpusMax = 65'536, kGpusMax = 1'024;

bool is_control(char c) noexcept { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

Status check_range(std::string_view field, uint64_t value, uint64_t low, uint64_t high) {
  if (value >= low && value <= high) return {};
  return invalid_argument(field, " is ", value, ", expected ", low, " to ", high);
}

/// "1500ms", "2s"
std::string duration_text(int64_t duration_ns) {
  if (duration_ns % kNsPerSecond == 0) return cat(duration_ns / kNsPerSecond, "s");
  if (duration_ns % kNsPerMs == 0) return cat(duration_ns / kNsPerMs, "ms");
  return cat(duration_ns, "ns");
}

/// By its text; where links lead is looked at when the model is put on a server.
bool is_in(const std::filesystem::path& directory, const std::filesystem::path& path) {
  const auto [rest, end] = std::ranges::mismatch(directory, path);
  return rest == directory.end();
}

Status check_source(size_t index, const std::string& source, const std::vector<std::string>& sources) {
  if (sources.empty()) return {};
  const std::filesystem::path path = std::filesystem::path(source + "/").lexically_normal().parent_path();
  if (path.is_absolute() &&
      std::ranges::any_of(sources, [&](const std::string& one) { return is_in(one, path); }))
    return {};
  return invalid_argument("models[", index, "].source is '", source,
                          "', expected a directory in one of the server's option 'sources'");
}

Status check_models(const std::vector<LeaseModel>& models, const std::vector<std::string>& sources) {
  if (models.empty()) return invalid_argument("models is missing or empty, expected one model at least");
  if (models.size() > kLeaseModelsMax) {
    return invalid_argument("models has ", models.size(), " models, expected at most ", kLeaseModelsMax);
  }
  std::set<std::string_view> names;
  for (size_t i = 0; i < models.size(); ++i) {
    const LeaseModel& model = models[i];
    ATOLL_RETURN_IF_ERROR(check_name(cat("models[", i, "].name"), model.name));
    if (!names.insert(model.name).second) {
      return invalid_argument("models[", i, "].name is '", model.name, "', which is in the lease already");
    }
    if (model.source.empty()) return invalid_argument("models[", i, "].source is missing or empty");
    if (model.source.size() > kSourceBytesMax) {
      return invalid_argument("models[", i, "].source has ", model.source.size(), " bytes, expected at most ",
                              kSourceBytesMax);
    }
    if (!is_utf8(model.source) || std::ranges::any_of(model.source, is_control)) {
      return invalid_argument("models[", i, "].source has control characters or is no UTF-8");
    }
    ATOLL_RETURN_IF_ERROR(check_source(i, model.source, sources));
  }
  return {};
}

Status check_quota(uint64_t quota) {
  return quota == 0 ? invalid_argument("quota is missing or 0, expected 1 or more") : Status();
}

}  // namespace

Status check_name(std::string_view what, std::string_view name) {
  if (without_blanks(name).empty()) return invalid_argument(what, " is missing or empty");
  if (!is_utf8(name) || std::ranges::any_of(name, is_control)) {
    return invalid_argument(what, " has control characters or is no UTF-8");
  }
  if (name.size() > kNameBytesMax) {
    return invalid_argument(what, " has ", name.size(), " bytes, expected at most ", kNameBytesMax);
  }
  if (leaves_directory(name)) {
    return invalid_argument(what, " is '", name, "', expected a name without '/' that is not '.' or '..'");
  }
  return {};
}

Status check(const PoolDefinition& pool) {
  Mistakes mistakes;
  mistakes.add(check_name("name", pool.name));
  if (pool.max_instances == 0) {
    mistakes.add(invalid_argument("max_instances is missing or 0, expected 1 to ", kInstancesMax));
  } else {
    mistakes.add(check_range("max_instances", pool.max_instances, 1, kInstancesMax));
    if (pool.min_instances > pool.max_instances)
      mistakes.add(invalid_argument("min_instances is ", pool.min_instances,
                                    ", expected at most max_instances, ", pool.max_instances));
  }
  mistakes.add(check_quota(pool.quota));
  const InstanceDefinition& instance = pool.instance;
  if (!instance.runtime.empty()) mistakes.add(check_name("instance.runtime", instance.runtime));
  mistakes.add(check_range("instance.cpus", instance.cpus, 0, kCpusMax));
  mistakes.add(check_range("instance.gpus", instance.gpus, 0, kGpusMax));
  return mistakes.status();
}

Result<int64_t> checked_duration(std::optional<int64_t> duration_ns, const LeaseLimits& limits) {
  const int64_t wanted_ns = duration_ns.value_or(limits.default_duration_ns);
  if (wanted_ns < limits.min_duration_ns) {
    return invalid_argument("duration is ", duration_text(wanted_ns), ", expected at least ",
                            duration_text(limits.min_duration_ns));
  }
  if (limits.max_duration_ns != 0 && wanted_ns > limits.max_duration_ns) {
    return invalid_argument("duration is ", duration_text(wanted_ns), ", expected at most ",
                            duration_text(limits.max_duration_ns));
  }
  return wanted_ns;
}

Status check(const LeaseDefinition& lease, const LeaseLimits& limits) {
  Mistakes mistakes;
  mistakes.add(check_name("pool", lease.pool));
  mistakes.add(check_quota(lease.quota));
  mistakes.add(check_models(lease.models, limits.sources));
  if (Result<int64_t> duration = checked_duration(lease.duration_ns, limits); !duration.ok())
    mistakes.add(duration.status());
  ATOLL_RETURN_IF_ERROR(mistakes.status());
  if (lease.auto_renew) {
    if (lease.auto_renew->window_ns < 0) return invalid_argument("auto_renew.window is negative");
    if (lease.auto_renew->duration_ns != 0) {
      Result<int64_t> by = checked_duration(lease.auto_renew->duration_ns, limits);
      if (!by.ok()) return invalid_argument("auto_renew.", by.status().message());
    }
  }
  if (!lease.idempotency_key.empty()) return check_name("idempotency_key", lease.idempotency_key);
  return {};
}

}  // namespace atl::pools
