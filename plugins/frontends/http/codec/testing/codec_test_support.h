/// Reading bodies with the codec in tests: in memory that ends where the codec may stop reading, so that a
/// sanitizer sees a read beyond.
#pragma once

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/memory/shared_memory.h"
#include "atoll/models/model.h"
#include "atoll/testing/followed_fake.h"
#include "frontends/common/testing/codec_test_support.h"
#include "frontends/http/codec/generate.h"
#include "frontends/http/codec/infer_request.h"

namespace atl::frontends::http {

/// A text with the readable bytes behind it that the codec asks for, which hold what would continue it.
class PaddedText {
 public:
  explicit PaddedText(std::string_view text)
      : size_(text.size()), memory_(new char[text.size() + kJsonPaddingBytes]) {
    if (!text.empty()) std::memcpy(memory_.get(), text.data(), text.size());
    std::memset(memory_.get() + size_, '9', kJsonPaddingBytes);
  }
  std::string_view text() const { return {memory_.get(), size_}; }
  std::span<const uint8_t> bytes() const { return {reinterpret_cast<const uint8_t*>(memory_.get()), size_}; }

 private:
  size_t size_;
  std::unique_ptr<char[]> memory_;
};

/// Regions over memory of the test. Counts what is held.
class FakeSharedMemory final : public SharedMemory {
 public:
  Status register_system(std::string_view, std::string_view, uint64_t, uint64_t) noexcept override {
    return unimplemented("not here");
  }
  Status register_cuda(std::string_view, std::span<const std::byte>, int64_t, uint64_t) noexcept override {
    return unimplemented("not here");
  }
  Status unregister(RegionKind, std::string_view) noexcept override { return {}; }
  Result<std::vector<SharedMemoryRegion>> status(RegionKind, std::string_view) const noexcept override {
    return std::vector<SharedMemoryRegion>();
  }
  Result<RegionLease> acquire(std::string_view region, uint64_t offset,
                              uint64_t byte_size) noexcept override {
    if (region != "region") return Status(Code::kNotFound, frontends::messages::unknown_region(region));
    if (offset >= sizeof bytes || byte_size > sizeof bytes - offset) {
      return invalid_argument("Invalid offset + byte size for shared memory region: '", region, "'");
    }
    ++held;
    RegionLease lease;
    lease.buffer.data = bytes + offset;
    lease.buffer.size_bytes = byte_size;
    lease.token = this;
    return lease;
  }
  Status check(const RegionLease&) const noexcept override { return {}; }
  void release(const RegionLease&) noexcept override { --held; }

  char bytes[64] = {};
  int held = 0;
};

inline TensorSpec spec(std::string name, DataType datatype, std::vector<int64_t> dims) {
  TensorSpec made;
  made.name = std::move(name);
  made.datatype = datatype;
  made.dims = std::move(dims);
  return made;
}

/// Model "m", version 3, without batching.
inline ModelInfo model_info(std::vector<TensorSpec> inputs = {}) {
  ModelInfo info;
  info.name = "m";
  info.version = 3;
  info.version_text = "3";
  info.inputs = std::move(inputs);
  return info;
}

/// An infer body that was read, and the request it made.
struct ReadBody {
  explicit ReadBody(std::string_view text, std::optional<size_t> json_bytes = std::nullopt,
                    InputLimits limits = {})
      : body(text), reader(limits) {
    regions.set_source(followed.get());
    status = reader.read({body.bytes(), json_bytes}, model_info(), request, parts, regions);
  }
  /// JSON with the tensors behind it.
  static ReadBody with_binary(std::string_view json, std::string_view binary) {
    return ReadBody(cat(json, binary), json.size());
  }

  PaddedText body;
  FakeSharedMemory shared_memory;
  test::FollowedFake<SharedMemory> followed{&shared_memory};
  RegionUses regions;
  InferRequestReader reader;
  Request request;
  InferParts parts;
  Status status;
};

/// A generate body that was read.
struct ReadGenerate {
  ReadGenerate(std::string_view text, const ModelInfo& model, InputLimits limits = {})
      : body(text), reader(limits) {
    status = reader.read(body.text(), model, request, parts);
  }

  PaddedText body;
  GenerateRequestReader reader;
  Request request;
  InferParts parts;
  Status status;
};

template <class T>
std::vector<T> values_of(const InputTensor& input) {
  const std::string bytes = bytes_of(input);
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

inline const Parameter* find_parameter(const Request& request, std::string_view key) {
  for (const Parameter& parameter : request.parameters) {
    if (parameter.key == key) return &parameter;
  }
  return nullptr;
}

}  // namespace atl::frontends::http
