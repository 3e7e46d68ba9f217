#include "one_caller.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>

static std::atomic<uint64_t> counted{0};

extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* malloc(size_t size) {
  counted.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  counted.fetch_add(1, std::memory_order_relaxed);
  return __libc_calloc(count, size);
}
void* realloc(void* memory, size_t size) {
  counted.fetch_add(1, std::memory_order_relaxed);
  return __libc_realloc(memory, size);
}
}

namespace atl::bench {
namespace {

std::filesystem::path new_folder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "one_caller_XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    std::perror(pattern.c_str());
    std::exit(1);
  }
  return pattern;
}

}  // namespace

uint64_t allocations() noexcept { return counted.load(); }

IdentityRepository::IdentityRepository(const std::string& backend) : path(new_folder()) {
  std::filesystem::create_directories(path / "m" / "1");
  std::ofstream(path / "m" / "config.pbtxt")
      << "backend: \"" << backend << "\"\n"
      << "input { name: \"INPUT0\" data_type: TYPE_UINT8 dims: 16 }\n"
      << "output { name: \"OUTPUT0\" data_type: TYPE_UINT8 dims: 16 }\n"
      << "instance_group { kind: KIND_CPU }\n";
}

void report(std::vector<double> times_us, uint64_t made) {
  std::sort(times_us.begin(), times_us.end());
  const auto quantile = [&](size_t percent) { return times_us[times_us.size() * percent / 100]; };
  std::printf("p10 %.3f us, p50 %.3f us, p90 %.3f us, p99 %.3f us; %llu allocations in %zu requests\n",
              quantile(10), quantile(50), quantile(90), quantile(99), static_cast<unsigned long long>(made),
              times_us.size());
}

}  // namespace atl::bench
