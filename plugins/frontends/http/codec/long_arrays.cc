#include "frontends/http/codec/long_arrays.h"

#include "frontends/common/json/json_writer.h"
#include "frontends/http/codec/json_scan.h"

namespace atl::frontends::http {
namespace {

/// Notes where the long arrays are.
class Finder : public JsonScan<Finder> {
 public:
  Finder(std::string_view text, const rapidjson::MemoryStream& stream, std::vector<LongArray>* found)
      : text_(text), stream_(stream), found_(*found) {
    levels_.reserve(kMaxJsonDepth + 1);
    levels_.emplace_back();
  }

  bool Default() { return element(); }  // null, flags, numbers
  bool String(const char* text, rapidjson::SizeType length, bool) {
    // A low surrogate alone passes the reader.
    bad_text_ = !is_valid_utf8({text, length});
    ++levels_.back().texts;
    levels_.back().text_bytes += length;
    return !bad_text_ && element();
  }
  bool Key(const char* text, rapidjson::SizeType length, bool copy) {
    bad_text_ = !is_valid_utf8({text, length});
    ++levels_.back().kept;
    return !bad_text_ && JsonScan::Key(text, length, copy);
  }
  bool StartObject() { return open(false); }
  bool EndObject(rapidjson::SizeType) {
    const Level closed = close();
    levels_.back().plain = false;
    levels_.back().kept += closed.kept + 1;
    return true;
  }
  bool StartArray() { return open(true); }
  bool EndArray(rapidjson::SizeType) {
    Level closed = close();
    if (closed.plain && closed.elements > kMostShortElements) {
      // Those inside are part of it.
      while (!found_.empty() && found_.back().text.data() > text_.data() + closed.start) found_.pop_back();
      found_.push_back({text_.substr(closed.start, stream_.Tell() - closed.start), closed.items,
                        closed.elements, closed.texts, closed.text_bytes});
      closed.kept = 1;
    }
    Level& outer = levels_.back();
    outer.plain = outer.plain && closed.plain;
    outer.kept += closed.kept + 1;
    ++outer.items;
    outer.elements += closed.elements;
    outer.texts += closed.texts;
    outer.text_bytes += closed.text_bytes;
    return true;
  }

  /// Values beside the arrays.
  uint64_t kept() const noexcept { return levels_.front().kept; }

 private:
  struct Level {
    size_t start = 0;
    bool plain = false;  ///< an array without objects
    uint64_t kept = 0;
    uint64_t items = 0;
    uint64_t elements = 0;
    uint64_t texts = 0;
    uint64_t text_bytes = 0;
  };

  bool element() noexcept {
    ++levels_.back().items;
    ++levels_.back().elements;
    ++levels_.back().kept;
    return true;
  }
  bool open(bool is_array) {
    levels_.push_back({stream_.Tell() - 1, is_array});
    return deeper();
  }
  Level close() noexcept {
    back();
    const Level closed = levels_.back();
    levels_.pop_back();
    return closed;
  }

  std::string_view text_;
  const rapidjson::MemoryStream& stream_;
  std::vector<LongArray>& found_;
  std::vector<Level> levels_;
};

}  // namespace

Status ShortenedJson::read(std::string_view from) {
  arrays.clear();
  text.clear();
  rapidjson::MemoryStream stream(from.data(), from.size());
  Finder finder(from, stream, &arrays);
  ATOLL_RETURN_IF_ERROR(Finder::run(stream, finder));
  if (finder.kept() > kMostOtherValues) {
    return invalid_argument("the JSON has ", finder.kept(), " values beside arrays of more than ",
                            kMostShortElements, " elements, at most ", kMostOtherValues, " are allowed");
  }
  if (arrays.empty()) return {};
  const char* copied = from.data();
  for (size_t i = 0; i < arrays.size(); ++i) {
    text.append(copied, arrays[i].text.data());
    text += cat("{\"\\u0001[\":", i, "}");
    copied = arrays[i].text.data() + arrays[i].text.size();
  }
  text.append(copied, from.data() + from.size());
  return {};
}

}  // namespace atl::frontends::http
