/// How RapidJSON reads what simdjson does not take, and what its refusals are called.
#pragma once

#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <cstdint>
#include <string_view>

#include "atoll/core/status.h"
#include "atoll/lib/checked_json.h"
#include "frontends/common/codec/wire_messages.h"
#include "frontends/http/codec/json_document.h"
#include "frontends/http/codec/long_arrays.h"

namespace atl::frontends::http {

/// Standard JSON and the literals that json_document.h names. Not iterative: the handlers below end the
/// reading at kMaxJsonDepth.
inline constexpr unsigned kScanFlags = rapidjson::kParseNanAndInfFlag | rapidjson::kParseValidateEncodingFlag;

/// What handlers have in common: the depth, and the names that are ours.
template <class Handler>
class JsonScan : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, Handler> {
 public:
  bool Key(const char* text, rapidjson::SizeType, bool) {
    own_name_ = own_name_ || text[0] == kOwnNames;
    return !own_name_;
  }

  /// Reads all of the stream. Throws std::bad_alloc.
  static Status run(rapidjson::MemoryStream& stream, Handler& handler) {
    rapidjson::GenericReader<rapidjson::UTF8<>, rapidjson::UTF8<>, CheckedAllocator> reader;
    reader.Parse<kScanFlags>(stream, handler);
    if (handler.too_deep_) return invalid_argument(messages::kJsonTooDeep);
    if (handler.own_name_) {
      return invalid_argument(messages::kJsonMalformed,
                              "a member's name begins with the character U+0001 at ",
                              reader.GetErrorOffset());
    }
    if (handler.bad_text_) return invalid_argument(messages::kJsonMalformed, "Invalid value or encoding.");
    if (!reader.HasParseError()) return {};
    return invalid_argument(messages::kJsonMalformed, rapidjson::GetParseError_En(reader.GetParseErrorCode()),
                            " at ", reader.GetErrorOffset());
  }

 protected:
  bool deeper() noexcept {
    too_deep_ = ++depth_ > kMaxJsonDepth;
    return !too_deep_;
  }
  void back() noexcept { --depth_; }
  bool bad_text_ = false;  ///< a string that is not UTF-8 without its escapes

 private:
  uint32_t depth_ = 0;
  bool too_deep_ = false;
  bool own_name_ = false;
};

}  // namespace atl::frontends::http
