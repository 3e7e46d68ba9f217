#include "admission/quotas/settings.h"

#include <utility>

namespace atl::quotas {
namespace {

Status check_queue_delay(const Options& options) {
  if (options.get_duration_ns("overload_queue_delay") == 0 || options.get_int("request_concurrency") != 0)
    return {};
  return invalid_argument(
      "option 'overload_queue_delay' is set and 'request_concurrency' is 0, expected a "
      "number of requests that run at a time, for without one none waits");
}

}  // namespace

void check_options(OptionCheck& check) {
  check.list("tenants", &parse_tenants);
  check.passes("default_tenant", parse_quota("default_tenant", check.options().get_string("default_tenant")));
  check.passes({}, check_queue_delay(check.options()));
  check.whole(read_options(check.options()));
}

Result<RequestOptions> read_options(const Options& options) {
  RequestOptions read;
  AdmissionSettings& settings = read.settings;
  ATOLL_RETURN_IF_ERROR(check_queue_delay(options));
  Result<std::vector<TenantQuota>> named = parse_tenants(options.get_strings("tenants"));
  if (!named.ok()) return std::move(named).status();
  settings.tenants.named = std::move(named).value();
  const std::string& others = options.get_string("default_tenant");
  Result<Quota> quota = parse_quota("default_tenant", others);
  if (!quota.ok()) return std::move(quota).status();
  settings.tenants.others = quota.value();
  settings.tenants.others_apart = options.get_string("unknown_tenants") == "separate";
  settings.tenants.max_others = static_cast<uint64_t>(options.get_int("max_unknown_tenants"));
  settings.concurrency = static_cast<uint64_t>(options.get_int("request_concurrency"));
  settings.max_wait_ns = options.get_duration_ns("max_request_wait");
  settings.in_flight_limit = static_cast<uint64_t>(options.get_int("overload_in_flight"));
  settings.queue_delay_ns = options.get_duration_ns("overload_queue_delay");
  settings.queue_interval_ns = options.get_duration_ns("overload_interval");
  read.active = !settings.tenants.named.empty() || !others.empty() || settings.concurrency != 0 ||
                settings.in_flight_limit != 0;
  return read;
}

}  // namespace atl::quotas
