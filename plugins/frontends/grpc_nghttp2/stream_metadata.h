/// A call's metadata as its stream has them.
#pragma once

#include <string>

#include "frontends/common/grpc/call_metadata.h"
#include "frontends/grpc_nghttp2/transport/call_stream.h"

namespace atl::frontends::grpc_nghttp2 {

/// Valid as long as the stream is the call's.
class StreamMetadata final : public CallMetadata {
 public:
  explicit StreamMetadata(const CallStream& stream) noexcept : stream_(stream) {}
  virtual ~StreamMetadata() = default;

  size_t find(std::string_view name, std::span<std::string_view> values) const noexcept override {
    const HeaderList& list = stream_.metadata();
    size_t count = 0;
    for (size_t i = 0; i < list.size(); ++i) {
      const HeaderField field = list[i];
      if (field.name != name) continue;
      if (count < values.size()) values[count] = field.value;
      ++count;
    }
    return count;
  }
  std::string peer() const noexcept override { return stream_.peer(); }

 private:
  void visit(void (*use)(void* user, std::string_view name, std::string_view value),
             void* user) const override {
    const HeaderList& list = stream_.metadata();
    for (size_t i = 0; i < list.size(); ++i) use(user, list[i].name, list[i].value);
  }

  const CallStream& stream_;
};

}  // namespace atl::frontends::grpc_nghttp2
