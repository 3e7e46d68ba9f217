/// Integer expressions of a pipeline: "ceil_div(IMAGE.count, 256)".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"
#include "backends/cuda/code/extents.h"

namespace atl::cuda_backend {

/// Longest text of an expression.
inline constexpr size_t kExpressionBytesMax = 1024;
/// Deepest nesting of parentheses, calls and signs, and most values that wait for an operator at once.
inline constexpr uint32_t kExpressionDepthMax = 32;

/// 64-bit signed integers with + - * / % (division cuts off, as in C++), a sign, parentheses, ceil_div(a, b), align(a, b) (the
/// next multiple of b), min(a, b, ...), max(a, b, ...); B, the batch size; NAME.shape[i], NAME.bytes and NAME.count of a
/// tensor of the whole batch, where a name that is not made of letters, digits and _ stands in '...'. Where an input and an
/// output have one name it is the input. Reading is thread safe.
class Expression {
 public:
  /// The constant 0.
  Expression() noexcept = default;
  explicit Expression(int64_t value);

  /// Errors: INVALID_ARGUMENT with what was found, where, and what was expected.
  static Result<Expression> parse(std::string_view text, const TensorTable& table);

  /// Allocates nothing unless it fails. Errors: INVALID_ARGUMENT a number left 64 bits, or a division by zero; the message
  /// has the expression.
  Result<int64_t> evaluate(const BatchExtents& extents) const noexcept;

  /// Whether outputs are used in it, whose shapes may not be known yet.
  bool uses_outputs(const TensorTable& table) const noexcept;
  /// Whether it is the same for every batch.
  bool is_constant() const noexcept;
  const std::string& text() const noexcept { return text_; }

 private:
  friend class ExpressionParser;
  enum class Operator : uint8_t {
    kNumber,
    kBatch,
    kShape,
    kBytes,
    kCount,
    kNegate,
    kAdd,
    kSubtract,
    kMultiply,
    kDivide,
    kRemainder,
    kCeilDivide,
    kAlign,
    kMin,
    kMax
  };
  /// One step of a stack machine.
  struct Instruction {
    Operator what = Operator::kNumber;
    uint32_t slot = 0;
    int64_t number = 0;  ///< kShape: which dimension
  };
  static const char* apply(Operator what, int64_t a, int64_t b, int64_t& result) noexcept;

  std::vector<Instruction> code_;  // empty: the constant 0
  std::string text_ = "0";
};

}  // namespace atl::cuda_backend
