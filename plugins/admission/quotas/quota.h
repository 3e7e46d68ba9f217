/// What one tenant may have, as the manifest says it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"

namespace atl::quotas {

inline constexpr uint64_t kDefaultQueueSize = 1000;
/// Of tenants whose names may be told and kept; other names count as unknown.
inline constexpr size_t kTenantNameBytesMax = 64;
/// Of the tenant that all others share, and of the label that stands for several.
inline constexpr std::string_view kDefaultTenant = "default";
inline constexpr std::string_view kOtherTenants = "other";

struct Quota {
  uint32_t weight = 1;                 ///< share of the slots when tenants compete for them; 1..1000
  uint64_t concurrency = 0;            ///< requests that run at a time; 0: any number
  double rate = 0;                     ///< requests a second; 0: any number
  double burst = 0;                    ///< requests at once while the rate was not used up; 0 without a rate
  double tokens = 0;                   ///< of language models, a second; 0: any number
  double token_burst = 0;              ///< tokens at once, likewise
  uint64_t queue = kDefaultQueueSize;  ///< requests that wait at a time
};

struct TenantQuota {
  std::string name;
  Quota quota;
};

/// "weight=2,concurrency=8,rate=100/s,burst=20,tokens=60000/min,token_burst=9000,queue=50", any of them, in any
/// order; a rate is a second's (s), a minute's (min) or an hour's (h). Its burst, if none is given, is what it
/// allows in a second, at least 1; of tokens it is the number that the rate is written with. \param option  named in errors. Errors: INVALID_ARGUMENT with what was found and what was
/// expected.
Result<Quota> parse_quota(std::string_view option, std::string_view text);

/// "NAME:QUOTA" each. Errors: those of parse_quota(); a name that is none, is reserved or comes twice.
Result<std::vector<TenantQuota>> parse_tenants(const std::vector<std::string>& entries);

/// 1..64 letters, digits, and "-_.@/" : what may be kept and shown of what clients send.
bool is_tenant_name(std::string_view name) noexcept;

}  // namespace atl::quotas
