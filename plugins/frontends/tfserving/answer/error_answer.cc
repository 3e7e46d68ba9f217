#include "frontends/tfserving/answer/error_answer.h"

#include <utility>

#include "atoll/core/guarded.h"
#include "atoll/core/text.h"
#include "atoll/lib/json_writer.h"
#include "frontends/common/codec/error_map.h"

namespace atl::frontends::tfserving {

void answer_error(HttpExchange& exchange, const Status& status, uint32_t retry_after_ms) noexcept {
  Result<std::string> json = guarded("writing the error", [&]() -> Result<std::string> {
    CheckedBuffer buffer;
    CheckedWriter writer(buffer);
    write_object(writer, [&] { write_member(writer, "error", client_text(status)); });
    return std::string(buffer.GetString(), buffer.GetSize());
  });
  char seconds[24];
  const auto end = std::to_chars(seconds, seconds + sizeof seconds, (retry_after_ms + 999) / 1000).ptr;
  const HttpHeader header{"Retry-After", {seconds, static_cast<size_t>(end - seconds)}};
  exchange.answer({.status = http_status(status.code()),
                   .content_type = kJsonType,
                   .headers = std::span(&header, retry_after_ms == 0 ? 0 : 1)},
                  json.ok() ? std::move(json).value() : std::string());
}

void answer_json(HttpExchange& exchange, Result<std::string> json) noexcept {
  if (!json.ok()) return answer_error(exchange, json.status());
  exchange.answer({.content_type = kJsonType}, std::move(json).value());
}

}  // namespace atl::frontends::tfserving
