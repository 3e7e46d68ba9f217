#include "atoll/lib/version.h"

#include "atoll/abi/plugin.h"
#include "commit.h"

namespace atl::lib {

std::string version_text(std::string_view program) {
  return std::string(program) + " " ATOLL_VERSION "\ncommit " ATOLL_COMMIT "\nbuild " ATOLL_BUILD_TAG;
}

}  // namespace atl::lib
