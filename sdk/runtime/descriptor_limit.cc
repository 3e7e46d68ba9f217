#include "atoll/runtime/descriptor_limit.h"

#include <sys/resource.h>

#include <cerrno>
#include <cstring>

namespace atl::runtime {

Result<DescriptorLimit> raise_descriptor_limit() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return unavailable("the limit of open files cannot be read: ", std::strerror(errno));
  }
  DescriptorLimit done{limit.rlim_cur, limit.rlim_max};
  if (limit.rlim_cur == limit.rlim_max) return done;
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return unavailable("the limit of open files stays at ", done.soft_before, ", it cannot be raised to ",
                       done.soft, ": ", std::strerror(errno));
  }
  return done;
}

}  // namespace atl::runtime
