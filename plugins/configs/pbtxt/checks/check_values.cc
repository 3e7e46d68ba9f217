#include "configs/pbtxt/checks/check_values.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/utf8.h"

namespace atl::pbtxt {

namespace {

namespace protobuf = google::protobuf;

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
