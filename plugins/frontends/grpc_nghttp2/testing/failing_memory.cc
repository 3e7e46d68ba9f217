#include "frontends/grpc_nghttp2/testing/failing_memory.h"

#include <malloc.h>

#include <cstdlib>
#include <new>
#include <utility>

namespace {

thread_local bool is_armed = false;
thread_local bool has_failed = false;
thread_local uint64_t others_left = 0;
thread_local size_t failing_bytes = 0;  // 0: of any size

bool fails(size_t bytes) noexcept {
  if (!is_armed || (failing_bytes != 0 && bytes != failing_bytes)) return false;
  if (failing_bytes == 0 && others_left-- != 0) return false;
  is_armed = false;
  has_failed = true;
  return true;
}

void arm(uint64_t others, size_t bytes) noexcept {
  is_armed = true;
  has_failed = false;
  others_left = others;
  failing_bytes = bytes;
}

}  // namespace

namespace atl::test {

void FailingMemory::fail_after(uint64_t others) noexcept { arm(others, 0); }
void FailingMemory::fail_next_of(size_t bytes) noexcept { arm(0, bytes); }
bool FailingMemory::stop() noexcept {
  is_armed = false;
  return std::exchange(has_failed, false);
}

}  // namespace atl::test

void* operator new(std::size_t size) {
  void* memory = fails(size) ? nullptr : std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
// A sanitizer's own does not come here, and its memory is none of free()'s.
void* operator new(std::size_t size, const std::nothrow_t& /*unused*/) noexcept {
  return fails(size) ? nullptr : std::malloc(size == 0 ? 1 : size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t& /*unused*/) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

extern "C" void* aligned_alloc(size_t alignment, size_t size) noexcept {
  return fails(size) ? nullptr : memalign(alignment, size);
}
