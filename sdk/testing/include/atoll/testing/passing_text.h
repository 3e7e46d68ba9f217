/// A text that goes away as the literals of a plugin do that is unloaded.
#pragma once

#include <sys/mman.h>

#include <cstring>
#include <stdexcept>
#include <string_view>

namespace atl::test {

/// A NUL-terminated text in memory of its own, which is unmapped with this object. Whoever keeps the pointer
/// beyond the call that it was given in faults when it reads there.
class PassingText {
 public:
  explicit PassingText(std::string_view text) : size_(text.size() + 1) {
    void* made = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) throw std::runtime_error("no memory for a text");
    at_ = static_cast<char*>(made);
    std::memcpy(at_, text.data(), text.size());
  }
  PassingText(const PassingText&) = delete;
  PassingText& operator=(const PassingText&) = delete;
  ~PassingText() { ::munmap(at_, size_); }

  const char* c_str() const noexcept { return at_; }
  std::string_view view() const noexcept { return {at_, size_ - 1}; }

 private:
  size_t size_;
  char* at_;
};

}  // namespace atl::test
