#include "frontends/http/management/base64.h"

#include <google/protobuf/stubs/strutil.h>

namespace atl::frontends::http {

bool decode_base64(std::string_view text, std::string* bytes) noexcept {
  if (text.empty()) {
    bytes->clear();
    return true;
  }
  return google::protobuf::Base64Unescape({text.data(), text.size()}, bytes);
}

}  // namespace atl::frontends::http
