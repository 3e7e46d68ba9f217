#include "program_symbols.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>

namespace atl::embedded {
namespace {

/// Of libraries whose names do not tell their versions; one name of each that every version has.
constexpr std::array kShared = {"_ZTIN6google8protobuf11MessageLiteE", "_ZTVN6google8protobuf11MessageLiteE",
                                "_ZN6google8protobuf11MessageLiteD2Ev", "grpc_init", "gpr_malloc"};

struct Allocator {
  const char* function;
  const char* library;
};
constexpr std::array kAllocators = {Allocator{"malloc", "libc.so.6"}, Allocator{"free", "libc.so.6"},
                                    Allocator{"_Znwm", "libstdc++.so.6"},
                                    Allocator{"_ZdlPv", "libstdc++.so.6"}};

}  // namespace

bool must_prefer_own_symbols() noexcept {
  void* const program = ::dlopen(nullptr, RTLD_LAZY);
  if (program == nullptr) return false;
  const auto is_the_programs = [&](const Allocator& one) {
    void* const used = ::dlsym(program, one.function);
    void* const library = ::dlopen(one.library, RTLD_LAZY | RTLD_NOLOAD);
    if (used == nullptr || library == nullptr) return false;
    const bool is_other = used != ::dlsym(library, one.function);
    ::dlclose(library);
    return is_other;
  };
  const bool must =
      std::ranges::any_of(kShared, [&](const char* name) { return ::dlsym(program, name) != nullptr; }) &&
      std::ranges::none_of(kAllocators, is_the_programs);
  ::dlclose(program);
  return must;
}

}  // namespace atl::embedded
