/// Memory for HTTP/2 sessions of one thread.
#pragma once

#include <nghttp2/nghttp2.h>

#include <array>
#include <cstddef>

namespace atl::frontends::grpc_nghttp2 {

/// Keeps what was freed, by sizes that are powers of two: a call asks for the same seven pieces as the one
/// before. Of one thread; outlives its sessions.
class MemoryPool {
 public:
  MemoryPool() noexcept;
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;
  ~MemoryPool();

  nghttp2_mem* nghttp2() noexcept { return &functions_; }
  /// Null: there is none.
  void* allocate(size_t bytes) noexcept;
  void free(void* memory) noexcept;
  void* reallocate(void* memory, size_t bytes) noexcept;

 private:
  static constexpr size_t kSizes = 8;  ///< 32 bytes to 4 KiB
  static constexpr size_t kSmallest = 32;
  static constexpr size_t kMostKept = 512;  ///< of each size

  /// Before each piece.
  struct alignas(16) Head {
    size_t bytes;  ///< of the piece
    size_t size;   ///< which of the sizes; kSizes: larger than all
  };
  struct Free {
    Free* next;
  };

  std::array<Free*, kSizes> kept_{};
  std::array<size_t, kSizes> count_{};
  nghttp2_mem functions_{};
};

}  // namespace atl::frontends::grpc_nghttp2
