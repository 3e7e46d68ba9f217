#include "frontends/console/counts/tenants_json.h"

#include <string_view>
#include <unordered_map>

#include "atoll/lib/json_writer.h"
#include "frontends/console/answer_json.h"

namespace atl::frontends::console {
namespace {

constexpr size_t kMostTenants = 1000;

constexpr CountColumn<CountedTenant> kTenantColumns[] = {
    {"atoll_admission_running", &CountedTenant::running},
    {"atoll_admission_waiting", &CountedTenant::waiting},
    {"atoll_admission_requests_total", &CountedTenant::admitted},
    {"atoll_admission_waited_total", &CountedTenant::waited},
    {"atoll_admission_wait_seconds_total", &CountedTenant::wait_seconds},
    {"atoll_admission_weight", &CountedTenant::weight},
    {"atoll_admission_concurrency_limit", &CountedTenant::concurrency},
    {"atoll_admission_rate_limit", &CountedTenant::rate},
    {"atoll_admission_token_limit", &CountedTenant::tokens},
    {"atoll_admission_queue_limit", &CountedTenant::queue}};

uint64_t whole(double value) noexcept { return value <= 0 ? 0 : static_cast<uint64_t>(value); }

}  // namespace

std::vector<CountedTenant> tenants_of(const CountReading& reading) {
  std::vector<CountedTenant> tenants;
  std::unordered_map<std::string_view, size_t> places;
  const auto place_of = [&](const CountedSample& sample) {
    const auto [found, is_new] = places.emplace(sample.label("tenant"), tenants.size());
    if (is_new) tenants.emplace_back().name = sample.label("tenant");
    return found->second;
  };
  for (const auto& column : kTenantColumns) {
    for (const CountedSample& sample : reading.of(column.family))
      tenants[place_of(sample)].*column.member += sample.value;
  }
  for (const CountedSample& sample : reading.of("atoll_admission_tokens_total")) {
    CountedTenant& tenant = tenants[place_of(sample)];
    (sample.label("kind") == "prompt" ? tenant.prompt_tokens : tenant.generated_tokens) += sample.value;
  }
  for (const CountedSample& sample : reading.of("atoll_admission_refused_total"))
    tenants[place_of(sample)].refused[std::string(sample.label("reason"))] += sample.value;
  return tenants;
}

void write_tenant(CheckedWriter& json, const CountedTenant& tenant) {
  write_object(json, [&] {
    write_member(json, "name", tenant.name);
    write_member(json, "running", whole(tenant.running));
    write_member(json, "waiting", whole(tenant.waiting));
    write_member(json, "admitted", whole(tenant.admitted));
    write_member(json, "waited", whole(tenant.waited));
    write_member(json, "wait_seconds", tenant.wait_seconds);
    write_member(json, "prompt_tokens", whole(tenant.prompt_tokens));
    write_member(json, "generated_tokens", whole(tenant.generated_tokens));
    write_object(json, "quota", [&] {
      write_member(json, "weight", whole(tenant.weight));
      write_member(json, "concurrency", whole(tenant.concurrency));
      write_member(json, "rate", tenant.rate);
      write_member(json, "tokens", tenant.tokens);
      write_member(json, "queue", whole(tenant.queue));
    });
    write_object(json, "refused", [&] {
      for (const auto& [reason, count] : tenant.refused) write_member(json, reason, whole(count));
    });
  });
}

std::string tenants_json(const CountReading& reading, const ProcessStart& start, const Identity* identity) {
  const bool sees_all = may_see_all(identity);
  std::vector<CountedTenant> tenants = tenants_of(reading);
  const bool is_limited = !tenants.empty();
  if (!sees_all)
    std::erase_if(tenants, [&](const CountedTenant& one) { return one.name != identity->tenant(); });
  const uint64_t matching = tenants.size();
  if (tenants.size() > kMostTenants) tenants.resize(kMostTenants);
  bool is_overloaded = false;
  for (const CountedSample& sample : reading.of("atoll_admission_overloaded"))
    is_overloaded = is_overloaded || sample.value != 0;
  return object_json([&](CheckedWriter& json) {
    write_member(json, "run", start.run);
    write_member(json, "time_ms", reading.wall_ms);
    write_member(json, "limited", is_limited);
    write_member(json, "overloaded", is_overloaded);
    write_member(json, "matching", matching);
    write_array(json, "tenants", tenants, [&](const CountedTenant& one) { write_tenant(json, one); });
  });
}

}  // namespace atl::frontends::console
