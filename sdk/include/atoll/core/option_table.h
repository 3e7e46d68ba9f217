/// Option tables with named parts, checked while they are compiled.
///
///     constexpr atl::OptionTable kOptions{
///         atl::option_float("temperature", 1.0).range(0.001, 1000).help("Divides the logits."),
///         atl::option_duration("interval", "15s").at_least("1s").help("Time between two looks."),
///         atl::option_string("mode", "fast").choices("fast|exact").help("How it is computed."),
///         atl::option_string_list("paths").required().help("Folders that are read."),
///     };
///
/// The table is the plugin's `.options`; it is a constant of static storage. What does not fit together does
/// not compile: a range where there is no order, choices of anything but a string, a row without help(), a
/// default outside of its range or choices, a required option with a default, a key twice. The error then
/// names a function of atl::option_error, which says what is wrong.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <type_traits>

#include "atoll/abi/plugin.h"
#include "atoll/core/quantity.h"

namespace atl {

/// Never called: the compiler names the one that a wrong table would call.
namespace option_error {
void a_key_is_1_to_64_of_a_to_z_0_to_9_and_underscore();
void a_key_is_in_the_table_twice();
void a_required_option_has_no_default();
void the_default_is_outside_of_the_range();
void the_default_is_not_among_the_choices();
void the_minimum_is_above_the_maximum();
void help_is_empty();
void a_duration_is_a_whole_number_and_one_of_ns_us_ms_s_m_h();
void a_size_is_a_whole_number_and_one_of_B_KiB_MiB_GiB_TiB();
void this_number_needs_more_than_15_digits();
void a_string_in_a_default_list_has_no_quote_or_backslash();
void the_default_list_is_too_long();
}  // namespace option_error

namespace option_detail {

/// A default or bound as a manifest would have it: a literal, or text made here from a number or a list.
class Text {
 public:
  constexpr Text() = default;
  constexpr explicit Text(const char* literal) : literal_(literal) {}
  constexpr explicit Text(bool value) : literal_(value ? "true" : "false") {}
  constexpr explicit Text(int64_t value) {
    const bool negative = value < 0;
    put_whole(negative ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value), negative);
  }
  constexpr explicit Text(double value) {
    constexpr double kExact = 1e15;  // whole numbers below are told apart
    const double size = value < 0 ? -value : value;
    double power = 1;
    for (int decimals = 0; size * power < kExact; ++decimals, power *= 10) {
      const auto whole = static_cast<uint64_t>(size * power + 0.5);
      if (static_cast<double>(whole) / power != size) continue;
      put_whole(whole, value < 0, decimals);
      return;
    }
    option_error::this_number_needs_more_than_15_digits();
  }
  /// ["a", "b"]
  constexpr explicit Text(std::initializer_list<const char*> list) {
    put('[');
    for (const char* item : list) {
      if (size_ > 1) put(','), put(' ');
      put('"');
      for (char c : std::string_view(item)) {
        if (c == '"' || c == '\\') option_error::a_string_in_a_default_list_has_no_quote_or_backslash();
        put(c);
      }
      put('"');
    }
    put(']');
  }

  /// Null: there is none. It borrows from this object.
  constexpr const char* c_str() const {
    return literal_ != nullptr ? literal_ : size_ == 0 ? nullptr : made_;
  }

 private:
  static constexpr size_t kMadeBytesMax = 192;

  constexpr void put(char c) {
    if (size_ + 1 >= kMadeBytesMax) option_error::the_default_list_is_too_long();
    made_[size_++] = c;
  }
  constexpr void put_whole(uint64_t value, bool negative, int decimals = 0) {
    char digits[24] = {};
    int count = 0;
    do digits[count++] = static_cast<char>('0' + value % 10);
    while ((value /= 10) != 0 || count <= decimals);
    if (negative) put('-');
    while (count > 0) {
      if (count-- == decimals) put('.');
      put(digits[count]);
    }
  }

  const char* literal_ = nullptr;
  char made_[kMadeBytesMax] = {};
  size_t size_ = 0;
};

constexpr bool is_key(std::string_view key) {
  return !key.empty() && key.size() <= 64 && std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

constexpr bool is_choice(std::string_view value, std::string_view choices) {
  while (true) {
    const size_t bar = choices.find('|');
    if (choices.substr(0, bar) == value) return true;
    if (bar == std::string_view::npos) return false;
    choices.remove_prefix(bar + 1);
  }
}

/// What values of a type are compared by.
template <uint32_t kType, class Value>
constexpr auto order_of(Value value) {
  if constexpr (kType == ATOLL_OPTION_DURATION) {
    auto ns = parse_duration_ns(value);
    if (!ns) option_error::a_duration_is_a_whole_number_and_one_of_ns_us_ms_s_m_h();
    return *ns;
  } else if constexpr (kType == ATOLL_OPTION_BYTES) {
    auto bytes = parse_bytes(value);
    if (!bytes) option_error::a_size_is_a_whole_number_and_one_of_B_KiB_MiB_GiB_TiB();
    return *bytes;
  } else {
    return value;
  }
}

}  // namespace option_detail

/// A finished row: what help() gives.
struct Option {
  const char* key = nullptr;
  uint32_t type = 0;
  uint32_t flags = 0;
  option_detail::Text default_value;
  option_detail::Text minimum;
  option_detail::Text maximum;
  const char* choices = nullptr;
  const char* help = nullptr;
};

/// A row without its help yet. \tparam Value  how a table writes a value of the type.
template <uint32_t kType, class Value>
class OptionDraft {
  static constexpr bool kOrdered = kType == ATOLL_OPTION_INT || kType == ATOLL_OPTION_FLOAT ||
                                   kType == ATOLL_OPTION_DURATION || kType == ATOLL_OPTION_BYTES;
  static constexpr bool kMany = kType == ATOLL_OPTION_STRING_LIST || kType == ATOLL_OPTION_STRING_MAP;

 public:
  constexpr explicit OptionDraft(const char* key) {
    if (!option_detail::is_key(key)) option_error::a_key_is_1_to_64_of_a_to_z_0_to_9_and_underscore();
    row_.key = key;
    row_.type = kType;
  }
  constexpr OptionDraft(const char* key, Value value) : OptionDraft(key) {
    row_.default_value = option_detail::Text(value);
    if constexpr (kOrdered) (void)option_detail::order_of<kType>(value);
    if constexpr (!kMany) default_ = value;
    has_default_ = true;
  }

  /// Both ends are allowed values.
  constexpr OptionDraft range(Value minimum, Value maximum) const requires(kOrdered) {
    using option_detail::order_of;
    if (order_of<kType>(maximum) < order_of<kType>(minimum)) option_error::the_minimum_is_above_the_maximum();
    return at_least(minimum).at_most(maximum);
  }
  constexpr OptionDraft at_least(Value minimum) const requires(kOrdered) {
    using option_detail::order_of;
    OptionDraft draft = *this;
    draft.row_.minimum = option_detail::Text(minimum);
    const auto least = order_of<kType>(minimum);
    if (has_default_ && order_of<kType>(default_) < least)
      option_error::the_default_is_outside_of_the_range();
    return draft;
  }
  constexpr OptionDraft at_most(Value maximum) const requires(kOrdered) {
    using option_detail::order_of;
    OptionDraft draft = *this;
    draft.row_.maximum = option_detail::Text(maximum);
    const auto most = order_of<kType>(maximum);
    if (has_default_ && most < order_of<kType>(default_)) option_error::the_default_is_outside_of_the_range();
    return draft;
  }
  /// One of them; all stand in one text: "text|json".
  constexpr OptionDraft choices(const char* choices) const requires(kType == ATOLL_OPTION_STRING) {
    if (has_default_ && !option_detail::is_choice(default_, choices)) {
      option_error::the_default_is_not_among_the_choices();
    }
    OptionDraft draft = *this;
    draft.row_.choices = choices;
    return draft;
  }
  /// The instance listens at this TCP address, "host:port": its form is checked, and that no other instance of
  /// the manifest listens at the same. Of a bool: where it is false, the instance listens at none.
  constexpr OptionDraft listens() const requires(kType == ATOLL_OPTION_STRING || kType == ATOLL_OPTION_BOOL) {
    return flagged(ATOLL_OPTION_LISTENS);
  }
  /// Where it is true, the ports of listens() may be those of other instances that say so too.
  constexpr OptionDraft shares_ports() const requires(kType == ATOLL_OPTION_BOOL) {
    return flagged(ATOLL_OPTION_SHARES_PORTS);
  }
  /// A manifest without it is refused.
  constexpr OptionDraft required() const {
    if (has_default_) option_error::a_required_option_has_no_default();
    return flagged(ATOLL_OPTION_REQUIRED);
  }
  /// The path of a file or folder that the instance writes to: a trial has another one instead.
  constexpr OptionDraft state() const requires(kType == ATOLL_OPTION_STRING) {
    return flagged(ATOLL_OPTION_STATE);
  }
  /// One sentence, with the unit; it is the option's documentation.
  constexpr Option help(const char* sentence) const {
    if (*sentence == '\0') option_error::help_is_empty();
    Option row = row_;
    row.help = sentence;
    const bool is_empty = !has_default_ && (row.flags & ATOLL_OPTION_REQUIRED) == 0;
    if (kMany && is_empty)
      row.default_value = option_detail::Text(kType == ATOLL_OPTION_STRING_LIST ? "[]" : "{}");
    return row;
  }

 private:
  constexpr OptionDraft flagged(uint32_t flag) const {
    OptionDraft draft = *this;
    draft.row_.flags |= flag;
    return draft;
  }

  Option row_;
  std::conditional_t<kMany, std::nullptr_t, Value> default_{};
  bool has_default_ = false;
};

/// One row each; without a default the option is empty, 0 or false where a manifest does not set it.
constexpr auto option_bool(const char* key, std::same_as<bool> auto value) {
  return OptionDraft<ATOLL_OPTION_BOOL, bool>(key, value);
}
constexpr auto option_int(const char* key) { return OptionDraft<ATOLL_OPTION_INT, int64_t>(key); }
constexpr auto option_int(const char* key, int64_t value) {
  return OptionDraft<ATOLL_OPTION_INT, int64_t>(key, value);
}
constexpr auto option_float(const char* key) { return OptionDraft<ATOLL_OPTION_FLOAT, double>(key); }
constexpr auto option_float(const char* key, double value) {
  return OptionDraft<ATOLL_OPTION_FLOAT, double>(key, value);
}
constexpr auto option_string(const char* key) { return OptionDraft<ATOLL_OPTION_STRING, const char*>(key); }
constexpr auto option_string(const char* key, const char* value) {
  return OptionDraft<ATOLL_OPTION_STRING, const char*>(key, value);
}
/// "250ms", "30s", "5m", "1h", "10us"
constexpr auto option_duration(const char* key) {
  return OptionDraft<ATOLL_OPTION_DURATION, const char*>(key);
}
constexpr auto option_duration(const char* key, const char* value) {
  return OptionDraft<ATOLL_OPTION_DURATION, const char*>(key, value);
}
/// "64MiB", "4KiB", "0"
constexpr auto option_bytes(const char* key) { return OptionDraft<ATOLL_OPTION_BYTES, const char*>(key); }
constexpr auto option_bytes(const char* key, const char* value) {
  return OptionDraft<ATOLL_OPTION_BYTES, const char*>(key, value);
}
constexpr auto option_string_list(const char* key) {
  return OptionDraft<ATOLL_OPTION_STRING_LIST, std::initializer_list<const char*>>(key);
}
constexpr auto option_string_list(const char* key, std::initializer_list<const char*> value) {
  return OptionDraft<ATOLL_OPTION_STRING_LIST, std::initializer_list<const char*>>(key, value);
}
constexpr auto option_string_map(const char* key) {
  return OptionDraft<ATOLL_OPTION_STRING_MAP, std::nullptr_t>(key);
}

/// The rows as the descriptor has them. The rows point into the table, so it stays where it is.
template <size_t kRows>
class OptionTable {
 public:
  template <class... Rows>
  constexpr explicit OptionTable(const Rows&...) {
    static_assert((std::same_as<Rows, Option> && ...), "every option ends with .help(\"a sentence\")");
  }
  template <std::same_as<Option>... Rows>
  constexpr explicit OptionTable(const Rows&... rows) : options_{rows...} {
    for (size_t i = 0; i < kRows; ++i) {
      const Option& option = options_[i];
      for (size_t j = 0; j < i; ++j) {
        if (std::string_view(rows_[j].key) == option.key) option_error::a_key_is_in_the_table_twice();
      }
      rows_[i] = {option.key,
                  option.type,
                  option.flags,
                  option.default_value.c_str(),
                  option.minimum.c_str(),
                  option.maximum.c_str(),
                  option.choices,
                  option.help};
    }
  }
  OptionTable(const OptionTable&) = delete;
  OptionTable& operator=(const OptionTable&) = delete;

  constexpr const atoll_option_v1* begin() const noexcept { return rows_; }
  constexpr const atoll_option_v1* end() const noexcept { return rows_ + kRows; }
  static constexpr size_t size() noexcept { return kRows; }

 private:
  Option options_[kRows];
  atoll_option_v1 rows_[kRows] = {};
};

template <class... Rows>
OptionTable(const Rows&...) -> OptionTable<sizeof...(Rows)>;

}  // namespace atl
