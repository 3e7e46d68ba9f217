/// A call's metadata as its stream has them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "frontends/common/grpc/call_metadata.h"
#include "frontends/grpc_nghttp2/transport/call_stream.h"

namespace atl::frontends::grpc_nghttp2 {

class ListMetadata : public CallMetadata {
 public:
  size_t find(std::string_view name, std::span<std::string_view> values) const noexcept override {
    const HeaderList& all = list();
    size_t count = 0;
    for (size_t i = 0; i < all.size(); ++i) {
      const HeaderField field = all[i];
      if (field.name != name) continue;
      if (count < values.size()) values[count] = field.value;
      ++count;
    }
    return count;
  }

 protected:
  ~ListMetadata() = default;
  virtual const HeaderList& list() const noexcept = 0;

 private:
  void visit(void (*use)(void* user, std::string_view name, std::string_view value),
             void* user) const override {
    const HeaderList& all = list();
    for (size_t i = 0; i < all.size(); ++i) use(user, all[i].name, all[i].value);
  }
};

/// Valid as long as the stream is the call's.
class StreamMetadata final : public ListMetadata {
 public:
  explicit StreamMetadata(const CallStream& stream) noexcept : stream_(stream) {}
  virtual ~StreamMetadata() = default;
  std::string peer() const noexcept override { return stream_.peer(); }
  /// The connection keeps it.
  const ClientCertificate* certificate() const noexcept override { return stream_.certificate().get(); }

 private:
  const HeaderList& list() const noexcept override { return stream_.metadata(); }

  const CallStream& stream_;
};

/// A copy, for who may be without the stream and on another thread.
class KeptMetadata final : public ListMetadata {
 public:
  explicit KeptMetadata(const CallStream& stream)
      : list_(stream.metadata()), peer_(stream.peer()), certificate_(stream.certificate()) {}
  virtual ~KeptMetadata() = default;
  std::string peer() const noexcept override { return peer_; }
  const ClientCertificate* certificate() const noexcept override { return certificate_.get(); }
  size_t bytes() const noexcept { return list_.bytes(); }

 private:
  const HeaderList& list() const noexcept override { return list_; }

  const HeaderList list_;
  const std::string peer_;
  const std::shared_ptr<const ClientCertificate> certificate_;
};

}  // namespace atl::frontends::grpc_nghttp2
