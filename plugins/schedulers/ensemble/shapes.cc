#include "schedulers/ensemble/shapes.h"

#include <algorithm>

namespace atl::ensemble {
namespace {

bool fits(std::span<const int64_t> shape, std::span<const int64_t> dims) noexcept {
  return std::equal(shape.begin(), shape.end(), dims.begin(), dims.end(),
                    [](int64_t actual, int64_t wanted) { return wanted == -1 || actual == wanted; });
}

}  // namespace

std::span<const int64_t> shape_for(std::span<const int64_t> shape, bool batched, bool reader_batches,
                                   std::span<const int64_t> dims, Arena& arena) noexcept {
  if (batched == reader_batches) return shape;
  const bool fits_as_it_is = fits(shape, dims);
  if (batched) return !fits_as_it_is && !shape.empty() && shape[0] == 1 ? shape.subspan(1) : shape;
  if (!fits_as_it_is) return shape;
  int64_t* with_batch = arena.make_array<int64_t>(shape.size() + 1);
  with_batch[0] = 1;
  std::copy(shape.begin(), shape.end(), with_batch + 1);
  return {with_batch, shape.size() + 1};
}

}  // namespace atl::ensemble
