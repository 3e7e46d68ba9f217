/// A client of any method.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frontends/common/grpc/testing/frontend_fixture.h"

namespace atl::frontends::grpc_cases {

/// One call of any method, step by step.
class GenericClient {
 public:
  using Metadata = std::vector<std::pair<std::string, std::string>>;
  GenericClient(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                const Metadata& metadata = {}, grpc_compression_algorithm compression = GRPC_COMPRESS_NONE)
      : stub_(channel) {
    for (const auto& [key, value] : metadata) context_.AddMetadata(key, value);
    context_.set_compression_algorithm(compression);
    call_ = stub_.PrepareCall(&context_, method, &queue_);
    call_->StartCall(nullptr);
    next();
  }
  ~GenericClient() {
    if (!is_finished_) {
      cancel();
      finish();
    }
    queue_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
    }
  }
  void send(const std::string& message) {
    grpc::Slice slice(message);
    call_->WriteLast(grpc::ByteBuffer(&slice, 1), {}, nullptr);
    next();
  }
  void send_one_of_several(const std::string& message) {
    grpc::Slice slice(message);
    call_->Write(grpc::ByteBuffer(&slice, 1), nullptr);
    next();
  }
  void send_nothing() {
    call_->WritesDone(nullptr);
    next();
  }
  /// The next message; nothing: the end.
  std::optional<std::string> read() {
    grpc::ByteBuffer buffer;
    call_->Read(&buffer, nullptr);
    if (!next()) return {};
    grpc::Slice slice;
    EXPECT_TRUE(buffer.DumpToSingleSlice(&slice).ok());
    return std::string(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  grpc::Status finish() {
    grpc::Status status;
    call_->Finish(&status, nullptr);
    next();
    is_finished_ = true;
    return status;
  }
  void cancel() { context_.TryCancel(); }
  std::string trailer(const std::string& name) const {
    const auto found = context_.GetServerTrailingMetadata().find(name);
    return found == context_.GetServerTrailingMetadata().end()
               ? std::string()
               : std::string(found->second.data(), found->second.size());
  }

 private:
  bool next() {
    void* tag = nullptr;
    bool ok = false;
    EXPECT_TRUE(queue_.Next(&tag, &ok));
    return ok;
  }
  grpc::GenericStub stub_;
  grpc::CompletionQueue queue_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
  bool is_finished_ = false;
};

}  // namespace atl::frontends::grpc_cases
