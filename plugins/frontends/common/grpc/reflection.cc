#include "frontends/common/grpc/reflection.h"

#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/unknown_field_set.h>

#include <algorithm>
#include <iterator>

#include "frontends/common/grpc/method_list.h"
#include "frontends/common/grpc/reflection_files.h"

namespace atl::frontends {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::FileDescriptor;
using google::protobuf::FileDescriptorProto;
using google::protobuf::UnknownField;
using google::protobuf::UnknownFieldSet;

/// The fields of a question; the last one of 3 to 7 is what is asked.
enum Question : int {
  kHost = 1,
  kFileByName = 3,
  kFileOfSymbol = 4,
  kFileOfExtension = 5,
  kExtensionNumbers = 6,
  kListServices = 7
};
/// Those of an answer.
enum Answer : int { kValidHost = 1, kOriginal = 2, kFiles = 4, kNumbers = 5, kServices = 6, kError = 7 };

const ReflectionFiles& own_files() {
  static const ReflectionFiles files;
  return files;
}

std::string bytes_of(const UnknownFieldSet& fields) {
  std::string bytes;
  (void)fields.SerializeToString(&bytes);
  return bytes;
}

std::string failure(Code code, std::string_view text) {
  UnknownFieldSet fields;
  fields.AddVarint(1, static_cast<uint64_t>(code));
  fields.AddLengthDelimited(2, std::string(text));
  return bytes_of(fields);
}

/// The file behind all that it imports.
void add_file(const FileDescriptor& file, std::set<const FileDescriptor*>* added, UnknownFieldSet* to) {
  if (!added->insert(&file).second) return;
  for (int i = 0; i < file.dependency_count(); ++i) add_file(*file.dependency(i), added, to);
  FileDescriptorProto described;
  file.CopyTo(&described);
  to->AddLengthDelimited(1, described.SerializeAsString());
}

std::string file_answer(const FileDescriptor& file) {
  UnknownFieldSet fields;
  std::set<const FileDescriptor*> added;
  add_file(file, &added, &fields);
  return bytes_of(fields);
}

std::string services_answer(const std::set<std::string>& services) {
  UnknownFieldSet list;
  for (const std::string& service : services) {
    UnknownFieldSet entry;
    entry.AddLengthDelimited(1, service);
    list.AddLengthDelimited(1, bytes_of(entry));
  }
  return bytes_of(list);
}

/// What is asked.
struct Asked {
  int what = 0;  ///< 0: nothing
  std::string name;
  std::string host;
};
Asked read_question(const UnknownFieldSet& fields) {
  Asked asked;
  for (int i = 0; i < fields.field_count(); ++i) {
    const UnknownField& field = fields.field(i);
    if (field.type() != UnknownField::TYPE_LENGTH_DELIMITED) continue;
    if (field.number() == kHost) asked.host = field.length_delimited();
    if (field.number() < kFileByName || field.number() > kListServices) continue;
    asked.what = field.number();
    asked.name = field.length_delimited();
  }
  return asked;
}

}  // namespace

Reflection::Reflection(const ContributedMethods& contributed) : contributed_(contributed) {
  for (std::string_view service : kGrpcServices) {
    const auto* found = DescriptorPool::generated_pool()->FindServiceByName(std::string(service));
    if (found != nullptr) add(found->file());
  }
  for (const FileDescriptor* file : own_files().files()) add(file);
}

void Reflection::add(const FileDescriptor* file) {
  if (!files_.emplace(file, file_answer(*file)).second) return;
  for (int i = 0; i < file->dependency_count(); ++i) add(file->dependency(i));
}

const FileDescriptor* Reflection::file_of(const std::string& name) const {
  const auto found = std::ranges::find_if(files_, [&name](const auto& file) {
    return file.first->pool()->FindFileContainingSymbol(name) == file.first;
  });
  return found == files_.end() ? nullptr : found->first;
}

std::set<std::string> Reflection::services() const {
  std::set<std::string> names(std::begin(kGrpcServices), std::end(kGrpcServices));
  if (const auto list = contributed_.list(); list) names.merge(list->services());
  return names;
}

const FileDescriptor* Reflection::file_named(const std::string& name) const {
  const auto found =
      std::ranges::find_if(files_, [&name](const auto& file) { return file.first->name() == name; });
  return found == files_.end() ? nullptr : found->first;
}

bool Reflection::has_message(const std::string& name) const {
  const FileDescriptor* file = file_of(name);
  return file != nullptr && file->pool()->FindMessageTypeByName(name) != nullptr;
}

Result<std::string> Reflection::answer(std::span<const uint8_t> question) const {
  UnknownFieldSet fields;
  if (question.size() > kMostReflectionBytes ||
      !fields.ParseFromArray(question.data(), static_cast<int>(question.size()))) {
    return Status(Code::kInvalidArgument, "the question is not a valid ServerReflectionRequest message");
  }
  const Asked asked = read_question(fields);
  UnknownFieldSet answer;
  if (!asked.host.empty()) answer.AddLengthDelimited(kValidHost, asked.host);
  answer.AddLengthDelimited(kOriginal,
                            std::string(reinterpret_cast<const char*>(question.data()), question.size()));
  const FileDescriptor* file = asked.what == kFileByName     ? file_named(asked.name)
                               : asked.what == kFileOfSymbol ? file_of(asked.name)
                                                             : nullptr;
  if (file != nullptr) {
    answer.AddLengthDelimited(kFiles, files_.at(file));
  } else if (asked.what == kListServices) {
    answer.AddLengthDelimited(kServices, services_answer(services()));
  } else if (asked.what == kExtensionNumbers && has_message(asked.name)) {
    UnknownFieldSet numbers;  // no message that is served has extensions
    numbers.AddLengthDelimited(1, asked.name);
    answer.AddLengthDelimited(kNumbers, bytes_of(numbers));
  } else if (asked.what == 0) {
    answer.AddLengthDelimited(kError, failure(Code::kInvalidArgument, "nothing is asked for"));
  } else {
    answer.AddLengthDelimited(
        kError, failure(Code::kNotFound, asked.what == kFileOfExtension
                                             ? std::string("no message that is served has extensions")
                                             : cat("'", asked.name, "' is not known here")));
  }
  return bytes_of(answer);
}

}  // namespace atl::frontends
