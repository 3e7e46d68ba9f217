#include "pools/leases/api/json_requests.h"

#include <rapidjson/error/en.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "atoll/core/clock.h"
#include "atoll/core/quantity.h"
#include "atoll/core/text.h"
#include "atoll/lib/checked_document.h"
#include "atoll/lib/near_name.h"
#include "atoll/lib/quantity_limit.h"
#include "pools/leases/book/mistakes.h"

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

template <class Number>
Status read(std::string_view field, const Value& value, std::optional<Number>* to) {
  return read(field, value, &to->emplace());
}

Status read_duration(std::string_view field, const Value& value, int64_t* to_ns) {
  constexpr std::string_view kExpected = "a text such as '90s', or a number of seconds";
  if (value.IsString()) {
    const std::optional<int64_t> parsed = parse_duration_ns(text_of(value));
    if (!parsed)
      return invalid_argument(field, " is '", text_of(value), "', expected ", kExpected,
                              lib::duration_limit_text(text_of(value)));
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

Status read_duration(std::string_view field, const Value& value, std::optional<int64_t>* to_ns) {
  return read_duration(field, value, &to_ns->emplace());
}

Status read_bytes(std::string_view field, const Value& value, uint64_t* to) {
  if (!value.IsString()) return read(field, value, to);
  const std::optional<uint64_t> parsed = parse_bytes(text_of(value));
  if (!parsed) {
    return invalid_argument(field, " is '", text_of(value),
                            "', expected a text such as '4GiB', or a number of bytes",
                            lib::bytes_limit_text(text_of(value)));
  }
  *to = *parsed;
  return {};
}

Status read(std::string_view field, const Value& value, InstanceDefinition* instance);
Status read(std::string_view field, const Value& value, std::vector<LeaseModel>* models);
Status read(std::string_view field, const Value& value, std::optional<AutoRenew>* to);

/// One field that an object may have, and how its value is read.
struct Member {
  std::string_view name;
  std::function<Status(std::string_view field, const Value& value)> read;
};
using MemberList = std::vector<Member>;

template <class To>
Member member(std::string_view name, To* to) {
  return {name, [to](std::string_view field, const Value& value) { return read(field, value, to); }};
}
template <class To>
Member duration_member(std::string_view name, To* to_ns) {
  return {name,
          [to_ns](std::string_view field, const Value& value) { return read_duration(field, value, to_ns); }};
}

Status unknown_field(const std::string& field, std::string_view name, const MemberList& members,
                     std::string_view note) {
  std::vector<std::string_view> known;
  std::string names;
  for (const Member& one : members) {
    known.push_back(one.name);
    names += cat(names.empty() ? "" : ", ", one.name);
  }
  return invalid_argument("field '", field, "' is not known, expected one of ", names,
                          lib::near_name(name, known), note);
}

/// \param place  before the names: "instance." \param note  behind the names that are expected
Status read_members(std::string_view place, const Value& object, const MemberList& members,
                    std::string_view note = {}) {
  Mistakes mistakes;
  std::set<std::string_view> seen;
  for (const auto& found : object.GetObject()) {
    const std::string_view name = text_of(found.name);
    const std::string field = cat(place, name);
    const auto known = std::ranges::find(members, name, &Member::name);
    if (!seen.insert(name).second) {
      mistakes.add(invalid_argument("field '", field, "' is there twice"));
    } else if (known == members.end()) {
      mistakes.add(unknown_field(field, name, members, note));
    } else {
      mistakes.add(known->read(field, found.value));
    }
  }
  return mistakes.status();
}

/// The body of a call. Without recursion, which a text could make deep.
Status read_body(std::string_view json, const MemberList& members, std::string_view note = {}) {
  CheckedDocument document;
  document.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag>(json.data(),
                                                                                         json.size());
  if (document.HasParseError()) {
    return invalid_argument("the body is not valid JSON at byte ", document.GetErrorOffset(), ": ",
                            rapidjson::GetParseError_En(document.GetParseError()));
  }
  if (!document.IsObject()) return wrong("the body", document, "an object");
  return read_members("", document, members, note);
}

Status read(std::string_view field, const Value& value, InstanceDefinition* instance) {
  if (!value.IsObject()) return wrong(field, value, "an object");
  const auto read_memory = [instance](std::string_view memory, const Value& bytes) {
    return read_bytes(memory, bytes, &instance->memory_bytes);
  };
  return read_members("instance.", value,
                      {member("runtime", &instance->runtime),
                       member("cpus", &instance->cpus),
                       member("gpus", &instance->gpus),
                       {"memory", read_memory}});
}

Status read(std::string_view field, const Value& value, std::vector<LeaseModel>* models) {
  if (!value.IsArray()) return wrong(field, value, "an array");
  // One more than there may be is enough to be refused for.
  for (const Value& element : value.GetArray()) {
    if (models->size() > kLeaseModelsMax) break;
    const std::string place = cat("models[", models->size(), "]");
    if (!element.IsObject()) return wrong(place, element, "an object");
    LeaseModel& model = models->emplace_back();
    ATOLL_RETURN_IF_ERROR(
        read_members(place + ".", element, {member("name", &model.name), member("source", &model.source)}));
  }
  return {};
}

Status read(std::string_view field, const Value& value, std::optional<AutoRenew>* to) {
  to->reset();
  if (value.IsBool()) {
    if (value.GetBool()) to->emplace();
    return {};
  }
  if (!value.IsObject()) return wrong(field, value, "true, false or an object");
  AutoRenew& auto_renew = to->emplace();
  return read_members("auto_renew.", value,
                      {duration_member("duration", &auto_renew.duration_ns),
                       duration_member("window", &auto_renew.window_ns)});
}

}  // namespace

Result<PoolDefinition> read_pool(std::string_view json) {
  PoolDefinition pool;
  ATOLL_RETURN_IF_ERROR(read_body(
      json, {member("name", &pool.name), member("min_instances", &pool.min_instances),
             member("max_instances", &pool.max_instances), member("quota", &pool.quota),
             member("enforce_backends", &pool.enforce_backends), member("instance", &pool.instance)}));
  return pool;
}

Result<PoolUpdate> read_pool_update(std::string_view json) {
  PoolUpdate update;
  ATOLL_RETURN_IF_ERROR(read_body(
      json, {member("min_instances", &update.min_instances), member("max_instances", &update.max_instances)},
      "; the others of a pool are as it was created with"));
  if (!update.min_instances && !update.max_instances)
    return invalid_argument("the body has no field, expected min_instances, max_instances or both");
  return update;
}

Result<LeaseDefinition> read_lease(std::string_view json) {
  LeaseDefinition lease;
  ATOLL_RETURN_IF_ERROR(read_body(
      json, {member("pool", &lease.pool), member("quota", &lease.quota),
             duration_member("duration", &lease.duration_ns), member("models", &lease.models),
             member("auto_renew", &lease.auto_renew), member("idempotency_key", &lease.idempotency_key)}));
  return lease;
}

Result<std::optional<int64_t>> read_renewal(std::string_view json) {
  std::optional<int64_t> duration_ns;
  if (json.empty()) return duration_ns;
  ATOLL_RETURN_IF_ERROR(read_body(json, {duration_member("duration", &duration_ns)}));
  return duration_ns;
}

Result<std::string> read_lease_name(std::string_view json) {
  std::string lease;
  ATOLL_RETURN_IF_ERROR(read_body(json, {member("lease", &lease)}));
  if (lease.empty()) return invalid_argument("lease is empty, expected the id of one");
  return lease;
}

}  // namespace atl::pools
