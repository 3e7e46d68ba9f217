/// Reading messages with the codec in tests: bytes cut into slices, each in memory of its own, so that a
/// sanitizer sees a read past a slice's end.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/testing/followed_fake.h"
#include "atoll/testing/random.h"
#include "frontends/common/codec/v2_infer_request.h"

namespace atl::frontends {

class SlicedBytes {
 public:
  /// \param cuts  ascending positions at which a slice ends
  explicit SlicedBytes(std::string_view bytes, const std::vector<size_t>& cuts = {}) {
    size_t from = 0;
    for (size_t cut : cuts) {
      add(bytes.substr(from, cut - from));
      from = cut;
    }
    add(bytes.substr(from));
  }
  static std::vector<size_t> random_cuts(size_t size, size_t count, test::Random& random) {
    std::vector<size_t> cuts;
    for (size_t i = 0; i < count; ++i) cuts.push_back(random.below(size + 1));
    std::sort(cuts.begin(), cuts.end());
    return cuts;
  }
  std::span<const ByteSpan> spans() const { return spans_; }

 private:
  void add(std::string_view bytes) {
    memory_.push_back(std::make_unique<uint8_t[]>(bytes.size()));
    if (!bytes.empty()) std::memcpy(memory_.back().get(), bytes.data(), bytes.size());
    spans_.emplace_back(memory_.back().get(), bytes.size());
  }
  std::vector<std::unique_ptr<uint8_t[]>> memory_;
  std::vector<ByteSpan> spans_;
};

/// A message read by the codec, and the request it made.
struct ReadMessage {
  /// \param service  where regions come from; null: there are none
  /// \param devices  reaches those in device memory
  explicit ReadMessage(std::string_view bytes, const std::vector<size_t>& cuts = {},
                       SharedMemory* service = nullptr, const DeviceMemory* devices = nullptr)
      : slices(bytes, cuts) {
    if (service != nullptr) {
      shared_memory = std::make_unique<test::FollowedFake<SharedMemory>>(service);
      regions.set_source(shared_memory->get(), {}, devices);
    }
    parse_status = message.parse(slices.spans(), request.arena());
    if (parse_status.ok()) fill_status = message.fill(request, regions);
  }
  bool ok() const { return parse_status.ok() && fill_status.ok(); }
  /// Of the step that failed.
  const Status& status() const { return parse_status.ok() ? fill_status : parse_status; }

  SlicedBytes slices;
  std::unique_ptr<test::FollowedFake<SharedMemory>> shared_memory;
  Request request;
  RegionUses regions;
  V2InferRequest message;
  Status parse_status;
  Status fill_status;
};

inline std::string bytes_of(const InputTensor& input) {
  std::string bytes;
  for (const Buffer& buffer : input.buffers) {
    bytes.append(static_cast<const char*>(buffer.data), buffer.size_bytes);
  }
  return bytes;
}

}  // namespace atl::frontends
