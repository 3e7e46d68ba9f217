/// One caller of a server inside its own process, who sends the next request when the one before is answered.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace atl::bench {

/// Of the whole process so far, libraries that were opened too: the program's malloc goes before theirs, so the program has to
/// export it.
uint64_t allocations() noexcept;

/// A repository in a folder of its own with model "m", which copies 16 bytes.
class IdentityRepository {
 public:
  explicit IdentityRepository(const std::string& backend);
  ~IdentityRepository() { std::filesystem::remove_all(path); }
  const std::filesystem::path path;
};

inline constexpr int kWarmUp = 10'000;
inline constexpr int kRequests = 200'000;

/// Prints quantiles of the times, in microseconds, and how many allocations were made.
void report(std::vector<double> times_us, uint64_t made);

/// \param infer  returns when its request is answered
template <class Infer>
void measure(const Infer& infer) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> times_us(kRequests);
  for (int i = 0; i < kWarmUp; ++i) infer();
  const uint64_t before = allocations();
  for (double& time_us : times_us) {
    const auto begun = Clock::now();
    infer();
    time_us = std::chrono::duration<double, std::micro>(Clock::now() - begun).count();
  }
  const uint64_t made = allocations() - before;
  report(std::move(times_us), made);
}

}  // namespace atl::bench
