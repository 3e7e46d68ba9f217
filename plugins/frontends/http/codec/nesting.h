/// Whether the brackets in `data` fit the shape.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "frontends/http/codec/json_document.h"

namespace atl::frontends::http {

/// The outer levels of arrays have to be the first dimensions, and the innermost arrays hold what is left of the shape: for [2,2,2] a
/// flat array of 8, 2 arrays of 4, or 2 of 2 of 2. Whoever writes others has other elements in mind than a model would get.
/// Told of each array once, when all of it is read; costs nothing an element. For shapes with elements.
class Nesting {
 public:
  explicit Nesting(std::span<const int64_t> shape) noexcept : shape_(shape) {}

  /// \param depth  1: the outermost array \param elements, arrays  that are in it, not in arrays in it
  void array(size_t depth, uint64_t elements, uint64_t arrays) noexcept {
    if (elements == 0) {
      fits_ = fits_ && depth <= shape_.size() && arrays == static_cast<uint64_t>(shape_[depth - 1]);
      return;
    }
    if (innermost_ == 0) {
      innermost_ = depth;
      // Also where the shape is that of a scalar.
      fits_ = fits_ && (depth == 1 || depth <= shape_.size());
      left_ = 1;
      for (size_t i = depth - 1; i < shape_.size(); ++i) left_ *= static_cast<uint64_t>(shape_[i]);
    }
    fits_ = fits_ && arrays == 0 && depth == innermost_ && elements == left_;
  }
  bool fits() const noexcept { return fits_; }

 private:
  std::span<const int64_t> shape_;
  size_t innermost_ = 0;  ///< depth of the arrays with elements; 0: there was none yet
  uint64_t left_ = 0;     ///< elements of each of them
  bool fits_ = true;
};

/// The same for who reads one bracket after the other. Throws std::bad_alloc.
class NestingScan {
 public:
  explicit NestingScan(std::span<const int64_t> shape) : nesting_(shape) {
    levels_.reserve(kMaxJsonDepth + 2);
    levels_.emplace_back();
  }
  void open() { levels_.emplace_back(); }
  void element() noexcept { ++levels_.back().elements; }
  void close() noexcept {
    nesting_.array(levels_.size() - 1, levels_.back().elements, levels_.back().arrays);
    levels_.pop_back();
    ++levels_.back().arrays;
  }
  bool fits() const noexcept { return nesting_.fits(); }

 private:
  struct Level {
    uint64_t elements = 0, arrays = 0;
  };
  Nesting nesting_;
  std::vector<Level> levels_;  ///< the first one is around the outermost array
};

}  // namespace atl::frontends::http
