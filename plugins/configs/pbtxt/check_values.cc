#include "check_values.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <string>
#include <string_view>
#include <vector>

namespace atl::pbtxt {

namespace {

namespace protobuf = google::protobuf;

bool is_utf8(std::string_view text) noexcept {
  size_t i = 0;
  while (i < text.size()) {
    auto lead = static_cast<unsigned char>(text[i]);
    size_t tail = lead < 0x80 ? 0 : lead < 0xC2 ? 4 : lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : lead < 0xF5 ? 3 : 4;
    if (tail == 4 || text.size() - i <= tail) return false;
    for (size_t k = 1; k <= tail; ++k) {
      auto byte = static_cast<unsigned char>(text[i + k]);
      unsigned low = 0x80, high = 0xBF;
      if (k == 1 && lead == 0xE0) low = 0xA0;   // overlong
      if (k == 1 && lead == 0xED) high = 0x9F;  // surrogates
      if (k == 1 && lead == 0xF0) low = 0x90;   // overlong
      if (k == 1 && lead == 0xF4) high = 0x8F;  // beyond U+10FFFF
      if (byte < low || byte > high) return false;
    }
    i += tail + 1;
  }
  return true;
}

class Checker {
 public:
  explicit Checker(Findings& findings) : findings_(findings) {}

  /// Recurses as deep as the message types nest, which is fixed: no type of ModelConfig contains itself.
  void message(const protobuf::Message& message, const std::string& prefix) {
    const protobuf::Reflection* reflection = message.GetReflection();
    std::vector<const protobuf::FieldDescriptor*> fields;
    reflection->ListFields(message, &fields);
    for (const protobuf::FieldDescriptor* field : fields) {
      if (!needs_check(field)) continue;
      std::string path = prefix + field->name();
      if (!field->is_repeated()) {
        value(message, field, -1, path);
        continue;
      }
      for (int i = 0; i < reflection->FieldSize(message, field); ++i) {
        value(message, field, i, field->is_map() ? path : cat(path, "[", i, "]"));
      }
    }
  }

 private:
  static bool needs_check(const protobuf::FieldDescriptor* field) {
    auto type = field->cpp_type();
    if (type == protobuf::FieldDescriptor::CPPTYPE_ENUM && has_a_rule(field->enum_type())) return false;
    return type == protobuf::FieldDescriptor::CPPTYPE_MESSAGE ||
           type == protobuf::FieldDescriptor::CPPTYPE_STRING ||
           type == protobuf::FieldDescriptor::CPPTYPE_ENUM;
  }

  /// Kinds that validate_batch_tensors() refuses, with a text that clients know.
  static bool has_a_rule(const protobuf::EnumDescriptor* type) {
    return type == inference::BatchInput::Kind_descriptor() ||
           type == inference::BatchOutput::Kind_descriptor();
  }

  void value(const protobuf::Message& message, const protobuf::FieldDescriptor* field, int index,
             const std::string& path) {
    const protobuf::Reflection* reflection = message.GetReflection();
    if (field->cpp_type() == protobuf::FieldDescriptor::CPPTYPE_MESSAGE) {
      return this->message(index < 0 ? reflection->GetMessage(message, field)
                                     : reflection->GetRepeatedMessage(message, field, index),
                           path + ".");
    }
    if (field->cpp_type() == protobuf::FieldDescriptor::CPPTYPE_STRING) {
      std::string scratch;
      const std::string& text = index < 0
                                    ? reflection->GetStringReference(message, field, &scratch)
                                    : reflection->GetRepeatedStringReference(message, field, index, &scratch);
      if (is_utf8(text)) return;
      return findings_.invalid(path, "'", path, "' holds bytes that are not valid UTF-8");
    }
    int number = index < 0 ? reflection->GetEnumValue(message, field)
                           : reflection->GetRepeatedEnumValue(message, field, index);
    if (field->enum_type()->FindValueByNumber(number) != nullptr) return;
    return findings_.invalid(path, "'", path, "' is ", number, ", expected a value of ",
                             field->enum_type()->name());
  }

  Findings& findings_;
};

}  // namespace

void check_values(const inference::ModelConfig& config, Findings& findings) {
  Checker(findings).message(config, "");
}

Status check_values(const inference::ModelConfig& config, const SourceMap& source) {
  Findings findings(source);
  check_values(config, findings);
  return findings.first();
}

}  // namespace atl::pbtxt
