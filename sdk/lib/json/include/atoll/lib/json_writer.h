/// Writing JSON with any of RapidJSON's writers, with texts from anywhere.
#pragma once

#include <concepts>
#include <string>
#include <string_view>

#include "atoll/core/utf8.h"
#include "atoll/lib/checked_json.h"

namespace atl {

/// A JSON string; bytes that are not UTF-8 become U+FFFD. A namespace whose writer has a faster way declares an overload for
/// it, which the functions below find.
template <class Writer>
void write_text(Writer& writer, std::string_view text) {
  const std::string replaced = is_utf8(text) ? std::string() : replace_invalid_utf8(text);
  const std::string_view written = is_utf8(text) ? text : std::string_view(replaced);
  writer.String(written.data() == nullptr ? "" : written.data(),
                static_cast<rapidjson::SizeType>(written.size()));
}
/// \param name  UTF-8
template <class Writer>
void write_key(Writer& writer, std::string_view name) {
  writer.Key(name.data(), static_cast<rapidjson::SizeType>(name.size()));
}

template <class Writer>
void write_member(Writer& writer, std::string_view name, std::string_view text) {
  write_key(writer, name);
  write_text(writer, text);
}
template <class Writer, std::integral T>
void write_member(Writer& writer, std::string_view name, T number) {
  write_key(writer, name);
  if constexpr (std::same_as<T, bool>) {
    writer.Bool(number);
  } else if constexpr (std::signed_integral<T>) {
    writer.Int64(number);
  } else {
    writer.Uint64(number);
  }
}
template <class Writer, std::floating_point T>
void write_member(Writer& writer, std::string_view name, T number) {
  write_key(writer, name);
  writer.Double(number);
}

/// An object, or that of a member, whose members `write` writes.
template <class Writer, class Write>
void write_object(Writer& writer, Write&& write) {
  writer.StartObject();
  write();
  writer.EndObject();
}
template <class Writer, class Write>
void write_object(Writer& writer, std::string_view name, Write&& write) {
  write_key(writer, name);
  write_object(writer, write);
}
/// An array, or that of a member, one call of `write` for each item.
template <class Writer, class Items, class Write>
void write_array(Writer& writer, const Items& items, Write&& write) {
  writer.StartArray();
  for (const auto& item : items) write(item);
  writer.EndArray();
}
template <class Writer, class Items, class Write>
void write_array(Writer& writer, std::string_view name, const Items& items, Write&& write) {
  write_key(writer, name);
  write_array(writer, items, write);
}

/// The text of one object, whose members `write` writes to the CheckedWriter that it is given.
template <class Write>
std::string object_json(Write&& write) {
  CheckedBuffer buffer;
  CheckedWriter json(buffer);
  write_object(json, [&] { write(json); });
  return {buffer.GetString(), buffer.GetSize()};
}

}  // namespace atl
