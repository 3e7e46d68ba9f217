/// Memory for HTTP/2 sessions of one thread.
#pragma once

#include <nghttp2/nghttp2.h>

#include <array>
#include <cstddef>
#include <vector>

namespace atl::frontends::grpc_nghttp2 {

/// Pieces for the one large buffer that each session has, for frames. Of most sessions only its beginning is ever
/// used, so a piece begins a page and takes memory as it is filled; freed ones take none. Not thread safe.
class FrameBuffers {
 public:
  static constexpr size_t kBytes = size_t{20} << 10;

  FrameBuffers() noexcept = default;
  FrameBuffers(const FrameBuffers&) = delete;
  FrameBuffers& operator=(const FrameBuffers&) = delete;
  ~FrameBuffers();

  /// Null: there is no memory.
  void* take() noexcept;
  void give(void* piece) noexcept;

 private:
  static constexpr size_t kPiecesOfRegion = 64;
  static constexpr size_t kRegionBytes = kPiecesOfRegion * kBytes;
  std::vector<void*> regions_;
  std::vector<void*> free_;
};

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
    size_t size;   ///< which of the sizes; or one of the following
  };
  struct Free {
    Free* next;
  };

  static constexpr size_t kFrameBuffer = kSizes;
  static constexpr size_t kOther = kSizes + 1;  ///< larger than all, and of the C library
  static constexpr size_t kLeastFrameBuffer = size_t{12} << 10;

  FrameBuffers frame_buffers_;
  std::array<Free*, kSizes> kept_{};
  std::array<size_t, kSizes> count_{};
  nghttp2_mem functions_{};
};

}  // namespace atl::frontends::grpc_nghttp2
