#include "backends/cuda/code/expression.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "atoll/core/text.h"

namespace atl::cuda_backend {
namespace {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
constexpr bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

}  // namespace

/// Emits the instructions while it reads. Recursion and the stack of the result are bounded together.
class ExpressionParser {
 public:
  using Operator = Expression::Operator;

  ExpressionParser(std::string_view text, const TensorTable& table) : text_(text), table_(table) {}

  Result<Expression> run() {
    if (text_.size() > kExpressionBytesMax) {
      return invalid_argument("expression: found ", text_.size(), " bytes, expected at most ",
                              kExpressionBytesMax);
    }
    ATOLL_RETURN_IF_ERROR(sum());
    skip_blanks();
    if (at_ != text_.size()) return unexpected("an operator or the end");
    made_.text_ = text_;
    return std::move(made_);
  }

 private:
  void skip_blanks() {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  }
  /// The next sign that is no blank; NUL: the end.
  char peek() {
    skip_blanks();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char sign) {
    if (peek() != sign) return false;
    ++at_;
    return true;
  }
  std::string_view word() {
    skip_blanks();
    const size_t begin = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  Status wrong(std::string_view what) const { return invalid_argument("expression '", text_, "': ", what); }
  Status unexpected(std::string_view expected) {
    const char sign = peek();
    const std::string found = sign == '\0' ? std::string("the end") : cat("'", text_.substr(at_, 1), "'");
    return wrong(cat("found ", found, " at ", at_ + 1, ", expected ", expected));
  }

  Status push(Operator what, uint32_t slot, int64_t number) {
    if (++stack_ > kExpressionDepthMax) return too_deep();
    made_.code_.push_back({what, slot, number});
    return {};
  }
  void binary(Operator what) {
    made_.code_.push_back({what, 0, 0});
    --stack_;
  }
  Status too_deep() const { return wrong(cat("is nested deeper than ", kExpressionDepthMax, " levels")); }

  Status sum() {
    ATOLL_RETURN_IF_ERROR(product());
    for (char sign = peek(); sign == '+' || sign == '-'; sign = peek()) {
      ++at_;
      ATOLL_RETURN_IF_ERROR(product());
      binary(sign == '+' ? Operator::kAdd : Operator::kSubtract);
    }
    return {};
  }

  Status product() {
    ATOLL_RETURN_IF_ERROR(nested_value());
    for (char sign = peek(); sign == '*' || sign == '/' || sign == '%'; sign = peek()) {
      ++at_;
      ATOLL_RETURN_IF_ERROR(nested_value());
      binary(sign == '*' ? Operator::kMultiply : sign == '/' ? Operator::kDivide : Operator::kRemainder);
    }
    return {};
  }

  Status nested_value() {
    if (++depth_ > kExpressionDepthMax) return too_deep();
    Status status = value();
    --depth_;
    return status;
  }

  Status value() {
    const char sign = peek();
    if (take('-')) {
      ATOLL_RETURN_IF_ERROR(nested_value());
      made_.code_.push_back({Operator::kNegate, 0, 0});
      return {};
    }
    if (take('(')) {
      ATOLL_RETURN_IF_ERROR(sum());
      return take(')') ? Status() : unexpected("')'");
    }
    if (sign == '\'') return quoted_tensor();
    if (is_digit(sign)) return number();
    const std::string_view name = word();
    if (name.empty()) return unexpected("a number, a name or '('");
    if (peek() == '.') return tensor(name);
    if (peek() == '(') return call(name);
    if (name == "B") return push(Operator::kBatch, 0, 0);
    return wrong(
        cat("found '", name, "', expected B, a function, or a tensor with .shape[i], .count or .bytes"));
  }

  Status number() {
    int64_t parsed = 0;
    const std::string_view digits = word();
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), parsed);
    if (error != std::errc() || end != digits.data() + digits.size())
      return wrong(cat("found '", digits, "', expected a decimal number of 64 bits"));
    return push(Operator::kNumber, 0, parsed);
  }

  Status quoted_tensor() {
    const size_t end = text_.find('\'', ++at_);
    if (end == std::string_view::npos) return wrong("found a name without its end, expected '\\''");
    const std::string_view name = text_.substr(at_, end - at_);
    at_ = end + 1;
    return peek() == '.' ? tensor(name) : unexpected("'.'");
  }

  Status tensor(std::string_view name) {
    std::optional<uint32_t> slot = table_.find(name, false);
    if (!slot) slot = table_.find(name, true);
    if (!slot) return wrong(cat("found '", name, "', expected an input or output of the model"));
    ++at_;  // the dot
    const std::string_view what = word();
    if (what == "count") return push(Operator::kCount, *slot, 0);
    if (what == "bytes") return push(Operator::kBytes, *slot, 0);
    if (what != "shape") {
      return wrong(cat("found '", name, ".", what, "', expected ", name, ".shape[i], ", name, ".count or ",
                       name, ".bytes"));
    }
    return dimension(name, *slot);
  }

  Status dimension(std::string_view name, uint32_t slot) {
    if (!take('[')) return unexpected("'['");
    const std::string_view digits = word();
    uint32_t index = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    const size_t rank = table_.tensors[slot].dims.size();
    if (error != std::errc() || end != digits.data() + digits.size() || index >= rank) {
      return wrong(cat("found dimension '", digits, "' of '", name, "', expected a number less than ", rank,
                       ", the number of its dimensions"));
    }
    if (!take(']')) return unexpected("']'");
    return push(Operator::kShape, slot, index);
  }

  Status call(std::string_view name) {
    struct Function {
      std::string_view name;
      Operator what;
      bool takes_more_than_two;
    };
    static constexpr Function kFunctions[] = {{"ceil_div", Operator::kCeilDivide, false},
                                              {"align", Operator::kAlign, false},
                                              {"min", Operator::kMin, true},
                                              {"max", Operator::kMax, true}};
    const auto* function = std::find_if(std::begin(kFunctions), std::end(kFunctions),
                                        [name](const Function& known) { return known.name == name; });
    if (function == std::end(kFunctions))
      return wrong(cat("found function '", name, "', expected ceil_div, align, min or max"));
    ++at_;  // the parenthesis
    ATOLL_RETURN_IF_ERROR(sum());
    if (!take(',')) return unexpected("',' and a second argument");
    do {
      ATOLL_RETURN_IF_ERROR(sum());
      binary(function->what);
    } while (function->takes_more_than_two && take(','));
    return take(')') ? Status() : unexpected("')'");
  }

  std::string_view text_;
  const TensorTable& table_;
  size_t at_ = 0;
  uint32_t depth_ = 0;
  uint32_t stack_ = 0;
  Expression made_;
};

Expression::Expression(int64_t value) : code_{{Operator::kNumber, 0, value}}, text_(cat(value)) {}

Result<Expression> Expression::parse(std::string_view text, const TensorTable& table) {
  return ExpressionParser(text, table).run();
}

/// \return what is wrong; null: nothing
const char* Expression::apply(Operator what, int64_t a, int64_t b, int64_t& result) noexcept {
  static constexpr const char* kTooLarge = "a number leaves 64 bits";
  const bool divides = what == Operator::kDivide || what == Operator::kRemainder;
  if (divides && b == 0) return "division by zero";
  if (divides && a == std::numeric_limits<int64_t>::min() && b == -1) return kTooLarge;
  const bool rounds = what == Operator::kCeilDivide || what == Operator::kAlign;
  if (rounds && b <= 0) return "the second argument of ceil_div and align has to be positive";
  switch (what) {
    case Operator::kAdd:
      return __builtin_add_overflow(a, b, &result) ? kTooLarge : nullptr;
    case Operator::kSubtract:
      return __builtin_sub_overflow(a, b, &result) ? kTooLarge : nullptr;
    case Operator::kMultiply:
      return __builtin_mul_overflow(a, b, &result) ? kTooLarge : nullptr;
    case Operator::kDivide:
      result = a / b;
      return nullptr;
    case Operator::kRemainder:
      result = a % b;
      return nullptr;
    case Operator::kCeilDivide:
      result = a / b + (a % b > 0 ? 1 : 0);
      return nullptr;
    case Operator::kAlign:
      result = a / b + (a % b > 0 ? 1 : 0);
      return __builtin_mul_overflow(result, b, &result) ? kTooLarge : nullptr;
    case Operator::kMin:
      result = std::min(a, b);
      return nullptr;
    default:
      result = std::max(a, b);
      return nullptr;
  }
}

Result<int64_t> Expression::evaluate(const BatchExtents& extents) const noexcept {
  int64_t stack[kExpressionDepthMax] = {};
  size_t depth = 0;
  for (const Instruction& each : code_) {
    const char* problem = nullptr;
    switch (each.what) {
      case Operator::kNumber:
        stack[depth++] = each.number;
        break;
      case Operator::kBatch:
        stack[depth++] = extents.batch();
        break;
      case Operator::kShape:
        stack[depth++] = extents.shape(each.slot)[static_cast<size_t>(each.number)];
        break;
      case Operator::kBytes:
        stack[depth++] = extents.bytes(each.slot);
        break;
      case Operator::kCount:
        stack[depth++] = extents.count(each.slot);
        break;
      case Operator::kNegate:
        problem = apply(Operator::kSubtract, 0, stack[depth - 1], stack[depth - 1]);
        break;
      default:
        --depth;
        problem = apply(each.what, stack[depth - 1], stack[depth], stack[depth - 1]);
    }
    if (problem != nullptr) return invalid_argument("expression '", text_, "': ", problem);
  }
  return stack[0];
}

bool Expression::uses_outputs(const TensorTable& table) const noexcept {
  return std::any_of(code_.begin(), code_.end(), [&table](const Instruction& each) {
    const bool is_tensor =
        each.what == Operator::kShape || each.what == Operator::kBytes || each.what == Operator::kCount;
    return is_tensor && table.tensors[each.slot].is_output;
  });
}

bool Expression::is_constant() const noexcept {
  return std::all_of(code_.begin(), code_.end(), [](const Instruction& each) {
    return each.what == Operator::kNumber || each.what >= Operator::kNegate;
  });
}

}  // namespace atl::cuda_backend
