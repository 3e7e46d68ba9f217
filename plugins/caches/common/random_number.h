/// A number that nobody can guess.
#pragma once

#include <cstdint>
#include <random>

namespace atl::caches {

inline uint64_t random_number() {
  std::random_device random;
  return uint64_t{random()} << 32 | random();
}

}  // namespace atl::caches
