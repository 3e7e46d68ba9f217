#include "frontends/common/json/model_config_json.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/stubs/strutil.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "atoll/core/text.h"
#include "frontends/common/json/json_text.h"

namespace atl::frontends {
namespace {

using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

/// In the fewest digits that give the number back, which for a float are fewer than as a double.
template <class T>
void write_real(JsonWriter& writer, T value) {
  if (std::isnan(value) || std::isinf(value)) {
    write_text(writer, std::isnan(value) ? "NaN" : value < 0 ? "-Infinity" : "Infinity");
    return;
  }
  char digits[64];
  const char* end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  writer.RawValue(digits, static_cast<size_t>(end - digits), rapidjson::kNumberType);
}

void write_bytes(JsonWriter& writer, const std::string& bytes) {
  std::string text;
  google::protobuf::Base64Escape(bytes, &text);
  write_text(writer, text);
}

void write_message(JsonWriter& writer, const Message& message);

/// One value of a field. `get` gives it in the type it is asked for, whether the field is repeated or not.
template <class Get>
void write_value(JsonWriter& writer, const FieldDescriptor& field, const Get& get) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      writer.Int(get.int32());
      break;
    case FieldDescriptor::CPPTYPE_INT64:
      writer.Int64(get.int64());
      break;
    case FieldDescriptor::CPPTYPE_UINT32:
      writer.Uint(get.uint32());
      break;
    case FieldDescriptor::CPPTYPE_UINT64:
      writer.Uint64(get.uint64());
      break;
    case FieldDescriptor::CPPTYPE_DOUBLE:
      write_real(writer, get.real());
      break;
    case FieldDescriptor::CPPTYPE_FLOAT:
      write_real(writer, get.narrow());
      break;
    case FieldDescriptor::CPPTYPE_BOOL:
      writer.Bool(get.flag());
      break;
    case FieldDescriptor::CPPTYPE_ENUM: {
      const EnumValueDescriptor* value = field.enum_type()->FindValueByNumber(get.number());
      if (value != nullptr) {
        write_text(writer, value->name());
      } else {
        writer.Int(get.number());
      }
      break;
    }
    case FieldDescriptor::CPPTYPE_STRING:
      if (field.type() == FieldDescriptor::TYPE_BYTES) {
        write_bytes(writer, get.text());
      } else {
        write_text(writer, get.text());
      }
      break;
    case FieldDescriptor::CPPTYPE_MESSAGE:
      write_message(writer, get.message());
      break;
  }
}

struct Single {
  const Message& from;
  const FieldDescriptor* field;
  const Reflection& reflection = *from.GetReflection();

  int32_t int32() const { return reflection.GetInt32(from, field); }
  int64_t int64() const { return reflection.GetInt64(from, field); }
  uint32_t uint32() const { return reflection.GetUInt32(from, field); }
  uint64_t uint64() const { return reflection.GetUInt64(from, field); }
  double real() const { return reflection.GetDouble(from, field); }
  float narrow() const { return reflection.GetFloat(from, field); }
  bool flag() const { return reflection.GetBool(from, field); }
  int number() const { return reflection.GetEnumValue(from, field); }
  std::string text() const { return reflection.GetString(from, field); }
  const Message& message() const { return reflection.GetMessage(from, field); }
};

struct Item {
  const Message& from;
  const FieldDescriptor* field;
  int index;
  const Reflection& reflection = *from.GetReflection();

  int32_t int32() const { return reflection.GetRepeatedInt32(from, field, index); }
  int64_t int64() const { return reflection.GetRepeatedInt64(from, field, index); }
  uint32_t uint32() const { return reflection.GetRepeatedUInt32(from, field, index); }
  uint64_t uint64() const { return reflection.GetRepeatedUInt64(from, field, index); }
  double real() const { return reflection.GetRepeatedDouble(from, field, index); }
  float narrow() const { return reflection.GetRepeatedFloat(from, field, index); }
  bool flag() const { return reflection.GetRepeatedBool(from, field, index); }
  int number() const { return reflection.GetRepeatedEnumValue(from, field, index); }
  std::string text() const { return reflection.GetRepeatedString(from, field, index); }
  const Message& message() const { return reflection.GetRepeatedMessage(from, field, index); }
};

/// Entries of a map are messages of a key, which this schema has as text or uint64, and a value.
void write_map(JsonWriter& writer, const Message& message, const FieldDescriptor* field) {
  const FieldDescriptor* key = field->message_type()->map_key();
  const FieldDescriptor* value = field->message_type()->map_value();
  const bool numbers = key->cpp_type() == FieldDescriptor::CPPTYPE_UINT64;
  std::vector<const Message*> entries;
  for (int i = 0; i < message.GetReflection()->FieldSize(message, field); ++i) {
    entries.push_back(&Item{message, field, i}.message());
  }
  std::sort(entries.begin(), entries.end(), [&](const Message* a, const Message* b) {
    if (numbers) return Single{*a, key}.uint64() < Single{*b, key}.uint64();
    return Single{*a, key}.text() < Single{*b, key}.text();
  });
  writer.StartObject();
  for (const Message* entry : entries) {
    const Single name{*entry, key};
    write_key(writer, numbers ? cat(name.uint64()) : name.text());
    write_value(writer, *value, Single{*entry, value});
  }
  writer.EndObject();
}

/// As deep as the schema, which has no message inside itself.
void write_message(JsonWriter& writer, const Message& message) {
  const google::protobuf::Descriptor& type = *message.GetDescriptor();
  const Reflection& reflection = *message.GetReflection();
  writer.StartObject();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor* field = type.field(i);
    if (field->has_presence() && !reflection.HasField(message, field)) continue;
    write_key(writer, field->name());
    if (field->is_map()) {
      write_map(writer, message, field);
    } else if (field->is_repeated()) {
      writer.StartArray();
      for (int item = 0; item < reflection.FieldSize(message, field); ++item) {
        write_value(writer, *field, Item{message, field, item});
      }
      writer.EndArray();
    } else {
      write_value(writer, *field, Single{message, field});
    }
  }
  writer.EndObject();
}

}  // namespace

std::string model_config_json(const inference::ModelConfig& config) {
  return json_text([&](JsonWriter& writer) { write_message(writer, config); });
}

}  // namespace atl::frontends
