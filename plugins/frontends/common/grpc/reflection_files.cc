#include "frontends/common/grpc/reflection_files.h"

#include <google/protobuf/descriptor.pb.h>

#include <initializer_list>
#include <string>

#include "atoll/core/text.h"

namespace atl::frontends {
namespace {

using google::protobuf::DescriptorProto;
using google::protobuf::FieldDescriptorProto;
using google::protobuf::FileDescriptorProto;

/// A field of a message, as protoc would describe it.
struct Field {
  const char* name;
  int number;
  FieldDescriptorProto::Type type = FieldDescriptorProto::TYPE_STRING;
  const char* message = nullptr;  ///< its type, if that is one of the same file
  bool is_repeated = false;
  bool is_in_oneof = false;
};

void add_message(FileDescriptorProto* file, const char* name, std::initializer_list<Field> fields,
                 const char* oneof = nullptr) {
  DescriptorProto* message = file->add_message_type();
  message->set_name(name);
  if (oneof != nullptr) message->add_oneof_decl()->set_name(oneof);
  for (const Field& described : fields) {
    FieldDescriptorProto* field = message->add_field();
    field->set_name(described.name);
    field->set_number(described.number);
    field->set_label(described.is_repeated ? FieldDescriptorProto::LABEL_REPEATED
                                           : FieldDescriptorProto::LABEL_OPTIONAL);
    field->set_type(described.type);
    if (described.message != nullptr) field->set_type_name(cat(".", file->package(), ".", described.message));
    if (described.is_in_oneof) field->set_oneof_index(0);
  }
}

constexpr auto kMessage = FieldDescriptorProto::TYPE_MESSAGE;
constexpr auto kInt32 = FieldDescriptorProto::TYPE_INT32;
constexpr auto kString = FieldDescriptorProto::TYPE_STRING;
constexpr auto kBytes = FieldDescriptorProto::TYPE_BYTES;

FileDescriptorProto describe(std::string_view version) {
  FileDescriptorProto file;
  file.set_name(cat("grpc/reflection/", version, "/reflection.proto"));
  file.set_package(cat("grpc.reflection.", version));
  file.set_syntax("proto3");
  auto* service = file.add_service();
  service->set_name("ServerReflection");
  auto* method = service->add_method();
  method->set_name("ServerReflectionInfo");
  method->set_input_type(cat(".", file.package(), ".ServerReflectionRequest"));
  method->set_output_type(cat(".", file.package(), ".ServerReflectionResponse"));
  method->set_client_streaming(true);
  method->set_server_streaming(true);
  add_message(&file, "ServerReflectionRequest",
              {{"host", 1},
               {"file_by_filename", 3, kString, nullptr, false, true},
               {"file_containing_symbol", 4, kString, nullptr, false, true},
               {"file_containing_extension", 5, kMessage, "ExtensionRequest", false, true},
               {"all_extension_numbers_of_type", 6, kString, nullptr, false, true},
               {"list_services", 7, kString, nullptr, false, true}},
              "message_request");
  add_message(&file, "ExtensionRequest", {{"containing_type", 1}, {"extension_number", 2, kInt32}});
  add_message(&file, "ServerReflectionResponse",
              {{"valid_host", 1},
               {"original_request", 2, kMessage, "ServerReflectionRequest"},
               {"file_descriptor_response", 4, kMessage, "FileDescriptorResponse", false, true},
               {"all_extension_numbers_response", 5, kMessage, "ExtensionNumberResponse", false, true},
               {"list_services_response", 6, kMessage, "ListServiceResponse", false, true},
               {"error_response", 7, kMessage, "ErrorResponse", false, true}},
              "message_response");
  add_message(&file, "FileDescriptorResponse", {{"file_descriptor_proto", 1, kBytes, nullptr, true}});
  add_message(&file, "ExtensionNumberResponse",
              {{"base_type_name", 1}, {"extension_number", 2, kInt32, nullptr, true}});
  add_message(&file, "ListServiceResponse", {{"service", 1, kMessage, "ServiceResponse", true}});
  add_message(&file, "ServiceResponse", {{"name", 1}});
  add_message(&file, "ErrorResponse", {{"error_code", 1, kInt32}, {"error_message", 2}});
  return file;
}

}  // namespace

ReflectionFiles::ReflectionFiles()
    : files_{pool_.BuildFile(describe("v1")), pool_.BuildFile(describe("v1alpha"))} {}

}  // namespace atl::frontends
