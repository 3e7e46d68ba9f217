/// What describes grpc.reflection itself.
#pragma once

#include <google/protobuf/descriptor.h>

#include <memory>
#include <span>

namespace atl::frontends {

/// The files of both versions, in a pool of their own: no generated code, which would be in the process's pool, where
/// a program that has the same files could not be.
class ReflectionFiles {
 public:
  ReflectionFiles();
  std::span<const google::protobuf::FileDescriptor* const> files() const noexcept { return files_; }

 private:
  google::protobuf::DescriptorPool pool_;
  const google::protobuf::FileDescriptor* files_[2] = {};
};

}  // namespace atl::frontends
