/// Server reflection: which services there are, and what their messages look like.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>

#include "atoll/core/status.h"
#include "frontends/common/grpc/contributed_methods.h"

namespace google::protobuf {
class FileDescriptor;
}  // namespace google::protobuf

namespace atl::frontends {

/// The one method of both versions, whose messages are the same bytes: a stream of questions, each with one answer.
inline constexpr const char* kReflectionPaths[] = {
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"};
/// Most bytes of a question.
inline constexpr uint64_t kMostReflectionBytes = uint64_t{64} << 10;

/// Knows the frontend's own services, itself included, with every file that these import, and nothing else that the
/// process has. Of services that other plugins bring it knows the names.
class Reflection {
 public:
  explicit Reflection(const ContributedMethods& contributed);

  /// [any] \param question  the bytes of a ServerReflectionRequest \returns those of a ServerReflectionResponse, which says
  /// so itself where there is no such thing. Errors: INVALID_ARGUMENT the bytes are no such message.
  Result<std::string> answer(std::span<const uint8_t> question) const;

 private:
  void add(const google::protobuf::FileDescriptor* file);
  /// Null: it is in none.
  const google::protobuf::FileDescriptor* file_of(const std::string& symbol) const;
  const google::protobuf::FileDescriptor* file_named(const std::string& name) const;
  bool has_message(const std::string& name) const;
  std::set<std::string> services() const;

  const ContributedMethods& contributed_;
  /// With what is answered for it: writing that takes much longer than reading the question.
  std::map<const google::protobuf::FileDescriptor*, std::string> files_;
};

}  // namespace atl::frontends
