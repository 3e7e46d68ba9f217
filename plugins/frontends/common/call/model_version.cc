#include "frontends/common/call/model_version.h"

#include <cerrno>
#include <cstdlib>
#include <string>

#include "atoll/models/model.h"
#include "frontends/common/codec/wire_messages.h"

namespace atl::frontends {

Result<int64_t> parse_model_version(std::string_view text) noexcept {
  if (text.empty()) return ModelCatalog::kLatest;
  const std::string terminated(text);
  char* end = nullptr;
  errno = 0;
  const long long value = std::strtoll(terminated.c_str(), &end, 10);
  if (end == terminated.c_str() || errno == ERANGE) {
    return Status(Code::kInvalidArgument, messages::version_not_number(text));
  }
  if (value < 0) return Status(Code::kInvalidArgument, messages::version_negative(text));
  return static_cast<int64_t>(value);
}

}  // namespace atl::frontends
