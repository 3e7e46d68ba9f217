#include "pools/leases/api/json_requests.h"

#include <rapidjson/error/en.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "atoll/core/clock.h"
#include "atoll/core/quantity.h"
#include "atoll/core/text.h"
#include "atoll/lib/checked_document.h"

namespace atl::pools {
namespace {

using Value = CheckedValue;

std::string_view text_of(const Value& value) { return {value.GetString(), value.GetStringLength()}; }

std::string_view kind_of(const Value& value) {
  constexpr std::string_view kNames[] = {"null",     "false",  "true",    "an object",
                                         "an array", "a text", "a number"};
  return kNames[value.GetType()];
}

Status wrong(std::string_view field, const Value& value, std::string_view expected) {
  return invalid_argument(field, " is ", kind_of(value), ", expected ", expected);
}

Status read(std::string_view field, const Value& value, std::string* to) {
  if (!value.IsString()) return wrong(field, value, "a text");
  *to = text_of(value);
  return {};
}

Status read(std::string_view field, const Value& value, bool* to) {
  if (!value.IsBool()) return wrong(field, value, "true or false");
  *to = value.GetBool();
  return {};
}

Status read(std::string_view field, const Value& value, uint64_t* to) {
  if (value.IsUint64()) {
    *to = value.GetUint64();
    return {};
  }
  if (value.IsNumber()) return invalid_argument(field, " is no whole number from 0 to 18446744073709551615");
  return wrong(field, value, "a whole number");
}

Status read(std::string_view field, const Value& value, uint32_t* to) {
  uint64_t number = 0;
  ATOLL_RETURN_IF_ERROR(read(field, value, &number));
  if (number > UINT32_MAX) return invalid_argument(field, " is ", number, ", expected at most ", UINT32_MAX);
  *to = static_cast<uint32_t>(number);
  return {};
}

Status read_duration(std::string_view field, const Value& value, int64_t* to_ns) {
  constexpr std::string_view kExpected = "a text such as '90s', or a number of seconds";
  if (value.IsString()) {
    const std::optional<int64_t> parsed = parse_duration_ns(text_of(value));
    if (!parsed) return invalid_argument(field, " is '", text_of(value), "', expected ", kExpected);
    *to_ns = *parsed;
    return {};
  }
  if (!value.IsNumber()) return wrong(field, value, kExpected);
  // Doubles have whole nanoseconds for three months only; whole seconds are exact.
  constexpr int64_t kSecondsMax = std::numeric_limits<int64_t>::max() / kNsPerSecond;
  if (value.IsInt64() && value.GetInt64() >= 0 && value.GetInt64() <= kSecondsMax) {
    *to_ns = value.GetInt64() * kNsPerSecond;
    return {};
  }
  const double seconds = value.GetDouble();
  if (seconds < 0 || seconds > static_cast<double>(kSecondsMax))
    return invalid_argument(field, " is ", seconds, ", expected seconds from 0 to ", kSecondsMax);
  *to_ns = static_cast<int64_t>(std::llround(seconds * static_cast<double>(kNsPerSecond)));
  return {};
}

Status read_bytes(std::string_view field, const Value& value, uint64_t* to) {
  if (!value.IsString()) return read(field, value, to);
  const std::optional<uint64_t> parsed = parse_bytes(text_of(value));
  if (!parsed) {
    return invalid_argument(field, " is '", text_of(value),
                            "', expected a text such as '4GiB', or a number of bytes");
  }
  *to = *parsed;
  return {};
}

/// Hands each member to `take`, which answers nothing for a name that it does not know.
/// \param place  before the names: "instance." \param names  for the refusal: "runtime, cpus"
template <class Take>
Status read_members(std::string_view place, const Value& object, std::string_view names, Take&& take) {
  std::set<std::string_view> seen;
  for (const auto& member : object.GetObject()) {
    const std::string field = cat(place, text_of(member.name));
    if (!seen.insert(text_of(member.name)).second)
      return invalid_argument("field '", field, "' is there twice");
    std::optional<Status> taken = take(text_of(member.name), field, member.value);
    if (!taken) return invalid_argument("field '", field, "' is not known, expected one of ", names);
    if (!taken->ok()) return std::move(*taken);
  }
  return {};
}

/// An object. Without recursion, which a text could make deep.
Status parse(std::string_view json, CheckedDocument* document) {
  document->Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag>(json.data(),
                                                                                          json.size());
  if (document->HasParseError()) {
    return invalid_argument("the body is not valid JSON at byte ", document->GetErrorOffset(), ": ",
                            rapidjson::GetParseError_En(document->GetParseError()));
  }
  if (!document->IsObject()) return wrong("the body", *document, "an object");
  return {};
}

std::optional<Status> read_instance_field(std::string_view name, const std::string& field, const Value& value,
                                          InstanceDefinition* instance) {
  if (name == "runtime") return read(field, value, &instance->runtime);
  if (name == "cpus") return read(field, value, &instance->cpus);
  if (name == "gpus") return read(field, value, &instance->gpus);
  if (name == "memory") return read_bytes(field, value, &instance->memory_bytes);
  return std::nullopt;
}

Status read_instance(const Value& value, InstanceDefinition* instance) {
  if (!value.IsObject()) return wrong("instance", value, "an object");
  return read_members("instance.", value, "runtime, cpus, gpus, memory",
                      [&](std::string_view name, const std::string& field, const Value& member) {
                        return read_instance_field(name, field, member, instance);
                      });
}

std::optional<Status> read_pool_field(std::string_view name, const std::string& field, const Value& value,
                                      PoolDefinition* pool) {
  if (name == "name") return read(field, value, &pool->name);
  if (name == "min_instances") return read(field, value, &pool->min_instances);
  if (name == "max_instances") return read(field, value, &pool->max_instances);
  if (name == "quota") return read(field, value, &pool->quota);
  if (name == "enforce_backends") return read(field, value, &pool->enforce_backends);
  if (name == "instance") return read_instance(value, &pool->instance);
  return std::nullopt;
}

Status read_models(const Value& value, std::vector<LeaseModel>* models) {
  if (!value.IsArray()) return wrong("models", value, "an array");
  // One more than there may be is enough to be refused for.
  for (const Value& element : value.GetArray()) {
    if (models->size() > kLeaseModelsMax) break;
    const std::string place = cat("models[", models->size(), "]");
    if (!element.IsObject()) return wrong(place, element, "an object");
    LeaseModel& model = models->emplace_back();
    ATOLL_RETURN_IF_ERROR(read_members(
        place + ".", element, "name, source",
        [&](std::string_view name, const std::string& field, const Value& member) -> std::optional<Status> {
          if (name == "name") return read(field, member, &model.name);
          if (name == "source") return read(field, member, &model.source);
          return std::nullopt;
        }));
  }
  return {};
}

Status read_auto_renew(const Value& value, std::optional<AutoRenew>* to) {
  to->reset();
  if (value.IsBool()) {
    if (value.GetBool()) to->emplace();
    return {};
  }
  if (!value.IsObject()) return wrong("auto_renew", value, "true, false or an object");
  AutoRenew& auto_renew = to->emplace();
  return read_members(
      "auto_renew.", value, "duration, window",
      [&](std::string_view name, const std::string& field, const Value& member) -> std::optional<Status> {
        if (name == "duration") return read_duration(field, member, &auto_renew.duration_ns);
        if (name == "window") return read_duration(field, member, &auto_renew.window_ns);
        return std::nullopt;
      });
}

std::optional<Status> read_lease_field(std::string_view name, const std::string& field, const Value& value,
                                       LeaseDefinition* lease) {
  if (name == "pool") return read(field, value, &lease->pool);
  if (name == "quota") return read(field, value, &lease->quota);
  if (name == "duration") return read_duration(field, value, &lease->duration_ns.emplace());
  if (name == "models") return read_models(value, &lease->models);
  if (name == "auto_renew") return read_auto_renew(value, &lease->auto_renew);
  if (name == "idempotency_key") return read(field, value, &lease->idempotency_key);
  return std::nullopt;
}

}  // namespace

Result<PoolDefinition> read_pool(std::string_view json) {
  CheckedDocument document;
  ATOLL_RETURN_IF_ERROR(parse(json, &document));
  PoolDefinition pool;
  ATOLL_RETURN_IF_ERROR(
      read_members("", document, "name, min_instances, max_instances, quota, enforce_backends, instance",
                   [&](std::string_view name, const std::string& field, const Value& value) {
                     return read_pool_field(name, field, value, &pool);
                   }));
  return pool;
}

Result<PoolUpdate> read_pool_update(std::string_view json) {
  CheckedDocument document;
  ATOLL_RETURN_IF_ERROR(parse(json, &document));
  PoolUpdate update;
  ATOLL_RETURN_IF_ERROR(read_members(
      "", document, "min_instances, max_instances; the others of a pool are as it was created with",
      [&](std::string_view name, const std::string& field, const Value& value) -> std::optional<Status> {
        if (name == "min_instances") return read(field, value, &update.min_instances.emplace());
        if (name == "max_instances") return read(field, value, &update.max_instances.emplace());
        return std::nullopt;
      }));
  if (!update.min_instances && !update.max_instances)
    return invalid_argument("the body has no field, expected min_instances, max_instances or both");
  return update;
}

Result<LeaseDefinition> read_lease(std::string_view json) {
  CheckedDocument document;
  ATOLL_RETURN_IF_ERROR(parse(json, &document));
  LeaseDefinition lease;
  ATOLL_RETURN_IF_ERROR(
      read_members("", document, "pool, quota, duration, models, auto_renew, idempotency_key",
                   [&](std::string_view name, const std::string& field, const Value& value) {
                     return read_lease_field(name, field, value, &lease);
                   }));
  return lease;
}

Result<std::optional<int64_t>> read_renewal(std::string_view json) {
  std::optional<int64_t> duration_ns;
  if (json.empty()) return duration_ns;
  CheckedDocument document;
  ATOLL_RETURN_IF_ERROR(parse(json, &document));
  ATOLL_RETURN_IF_ERROR(read_members(
      "", document, "duration",
      [&](std::string_view name, const std::string& field, const Value& value) -> std::optional<Status> {
        if (name == "duration") return read_duration(field, value, &duration_ns.emplace());
        return std::nullopt;
      }));
  return duration_ns;
}

Result<std::string> read_lease_name(std::string_view json) {
  CheckedDocument document;
  ATOLL_RETURN_IF_ERROR(parse(json, &document));
  std::string lease;
  ATOLL_RETURN_IF_ERROR(read_members(
      "", document, "lease",
      [&](std::string_view name, const std::string& field, const Value& value) -> std::optional<Status> {
        if (name == "lease") return read(field, value, &lease);
        return std::nullopt;
      }));
  if (lease.empty()) return invalid_argument("lease is empty, expected the id of one");
  return lease;
}

}  // namespace atl::pools
