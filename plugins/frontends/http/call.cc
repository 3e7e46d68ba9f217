#include "call.h"

#include "codec/error_json.h"
#include "common/error_map.h"
#include "http_messages.h"

namespace atl::frontends::http {

void Channel::answer_error(const Status& status, uint32_t retry_after_ms) noexcept {
  ReplyHead head{.http_status = http_status(status.code()), .content_type = kJsonType};
  if (status.message() == messages::kUnsupportedCompression)
    head.extra = "Accept-Encoding: gzip, deflate\r\n";
  head.retry_after_ms = retry_after_ms;
  answer_text(head, error_json(client_text(status)));
}

}  // namespace atl::frontends::http
