// Any bytes as what clients send to the pools, or as what an instance answers, which the first byte decides.
#include <cstdlib>
#include <string_view>

#include "fuzz_target.h"
#include "pools/leases/api/json_requests.h"
#include "pools/leases/servers/http_instance_models.h"

using namespace atl::pools;

namespace {

/// Whatever is refused has a reason.
template <class T>
bool is_taken(const atl::Result<T>& result) {
  if (!result.ok() && result.status().message().empty()) std::abort();
  return result.ok();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  switch (data[0] % 7) {
    case 0: {
      atl::Result<PoolDefinition> pool = read_pool(text);
      if (is_taken(pool)) (void)check(*pool).ok();
      break;
    }
    case 1: {
      atl::Result<LeaseDefinition> lease = read_lease(text);
      if (is_taken(lease)) (void)check(*lease, {}).ok();
      break;
    }
    case 2:
      (void)is_taken(read_pool_update(text));
      break;
    case 3:
      (void)is_taken(read_renewal(text));
      break;
    case 4:
      (void)is_taken(answers::is_in_use(text, "m"));
      break;
    case 5:
      (void)is_taken(answers::backends_of(text));
      break;
    default:
      if (answers::error_of({500, std::string(text)}).empty()) std::abort();
  }
  return 0;
}
