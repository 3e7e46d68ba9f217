#include "frontends/common/codec/error_map.h"

namespace atl::frontends {

int grpc_code(Code code) noexcept {
  auto number = static_cast<uint32_t>(code);
  return number <= static_cast<uint32_t>(Code::kUnauthenticated) ? static_cast<int>(number)
                                                                 : static_cast<int>(Code::kUnknown);
}

int http_status(Code code) noexcept {
  switch (code) {
    case Code::kOk:
      return 200;
    case Code::kNotFound:
      return 404;
    case Code::kUnavailable:
      return 503;
    case Code::kUnimplemented:
      return 501;
    case Code::kInternal:
    case Code::kDataLoss:
      return 500;
    case Code::kDeadlineExceeded:
      return 504;
    case Code::kPermissionDenied:
      return 403;
    case Code::kUnauthenticated:
      return 401;
    case Code::kResourceExhausted:
      return 429;
    case Code::kAborted:
      return 409;
    default:  // INVALID_ARGUMENT, ALREADY_EXISTS, CANCELLED, UNKNOWN, FAILED_PRECONDITION, OUT_OF_RANGE
      return 400;
  }
}

std::string client_text(const Status& status) { return std::string(status.message()); }

}  // namespace atl::frontends
