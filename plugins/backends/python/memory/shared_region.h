/// Memory that this process and one worker map: nameless, of a fixed size, gone with the last who has it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "atoll/core/file_descriptor.h"
#include "atoll/core/status.h"

namespace atl::python {

/// A sealed memfd and its mapping. Its size cannot be changed by anybody, so no access to it fails.
class SharedRegion {
 public:
  SharedRegion() = default;
  /// Zeros, which take memory when they are first touched. \param name  as /proc shows it
  /// Errors: RESOURCE_EXHAUSTED no descriptor or no addresses to be had.
  static Result<SharedRegion> create(const std::string& name, uint64_t size_bytes);

  SharedRegion(SharedRegion&& other) noexcept;
  SharedRegion& operator=(SharedRegion&& other) noexcept;
  ~SharedRegion();

  std::byte* data() const noexcept { return data_; }
  uint64_t size_bytes() const noexcept { return size_bytes_; }
  /// To be passed on; -1 once it is closed.
  int descriptor() const noexcept { return descriptor_.get(); }
  /// When it was passed on: the mapping is enough.
  void close_descriptor() noexcept { descriptor_ = FileDescriptor(); }
  /// Gives memory back to the system: zeros from then on. Whole pages only, the rest stays.
  void drop(uint64_t offset, uint64_t size_bytes) noexcept;

 private:
  FileDescriptor descriptor_;
  std::byte* data_ = nullptr;
  uint64_t size_bytes_ = 0;
};

}  // namespace atl::python
