#include "testing/allocations.h"

#include <cstdlib>
#include <new>

namespace {

thread_local uint64_t count = 0;

}  // namespace

namespace atl::triton::test {

uint64_t allocations() noexcept { return count; }

}  // namespace atl::triton::test

void* operator new(std::size_t size) {
  ++count;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
