/// Option tables: what a manifest may set for a plugin, with the default, the range and the
/// documentation of each option. A table is checked while the plugin is compiled.
///
///     constexpr atl::OptionTable kOptions{
///         atl::option_float("temperature", 1.0).range(0.001, 1000).help("Divides the logits."),
///         atl::option_duration("interval", "15s").at_least("1s").help("Time between two looks."),
///         atl::option_string("mode", "fast").choices("fast|exact").help("How it is computed."),
///         atl::option_string_list("paths").required().help("Folders that are read."),
///     };
///
/// The table is the plugin's `.options` (plugin.h), and a constant of static storage. In the
/// manifest, the options are keys of the instance's table:
///
///     [plugin.mine]
///     use = "examples/mine"
///     temperature = 0.7
///     paths = ["/srv/a", "/srv/b"]
///
/// The plugin reads complete values from Host::options() (options.h), mostly in init():
///
///     const double temperature = host_.options().get_float("temperature");                 // 0.7
///     const int64_t interval_ns = host_.options().get_duration_ns("interval");             // 15,000,000,000
///     const std::vector<std::string>& paths = host_.options().get_strings("paths");
///
/// A unit test gives it such values without a manifest (atoll/testing/option_table.h):
///
///     test::FakeOptions options;
///     Status applied = test::apply_option_table(kOptions, {{"paths", "[\"/srv/a\"]"}}, options);
///
/// The kernel refuses a manifest with an unknown key, a value of another type or outside of the
/// range or choices, or without a required key. It names the place, and the nearest key or choice:
/// "plugin.mine.mode: found 'fasst', expected one of fast|exact, did you mean 'fast'?". What a
/// table cannot say is the plugin's check (option_check.h).
///
/// A time is an option_duration() and a size an option_bytes(), never a plain number: then the unit
/// stands in the manifest. Rows that many plugins of this server have:
///
///     // An address that the instance listens at; a unit test sets port 0.
///     option_string("address", "127.0.0.1:8000").listens().help("Address to listen on, as host:port."),
///     // A limit that may be absent: the help says what 0 means.
///     option_bytes("limit", "0").help("Most bytes that are held at a time; 0: no limit."),
///     // A file that the instance writes; an empty text switches the writing off.
///     option_string("trace_file", "").state().help("Path of the trace file; empty: no traces."),
///     // Any number of named values.
///     option_string_map("tenants").help("Requests that a tenant may have at a time, by its name."),
///     // A key that another plugin has now (moved_option.h).
///     option_moved("restricted_apis", "security/keys"),
///
/// Manifests outlive a version of a plugin. A new option has a default with which the plugin works
/// as before. A key that is taken away, a new required key and a narrower range make the server
/// refuse manifests that it took before. At a reload, an instance whose values are others than
/// before is built anew beside the running one, unless the plugin follows changes
/// (options_follower.h).
///
/// What does not fit together does not compile: a range of a type without an order, choices of
/// anything but a string, a row without help(), a default outside of its range or choices, a
/// required option with a default, a key that comes twice. The error of the compiler then names a
/// function of atl::option_error, which says what is wrong:
///
///     error: call to non-'constexpr' function 'void atl::option_error::the_default_is_outside_of_the_range()'
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

/// Never called: the compiler names the function that a wrong table would call.
namespace option_error {
/// option_int("maxConnections"): keys are lower case, with words joined by '_', "max_connections".
void a_key_is_1_to_64_of_a_to_z_0_to_9_and_underscore();
/// Each key has one row, those of option_moved() included.
void a_key_is_in_the_table_twice();
/// option_string("path", "/srv").required(): each manifest sets the option, so its default would
/// never be used.
void a_required_option_has_no_default();
/// option_int("threads", 0).range(1, 64): each manifest that does not set the option would be
/// refused. If 0 means something, range(0, 64).
void the_default_is_outside_of_the_range();
/// option_string("mode", "fast").choices("slow, fast"): choices stand in one text, with '|' between
/// them and no blanks, "slow|fast".
void the_default_is_not_among_the_choices();
/// range(64, 1): no value would be allowed.
void the_minimum_is_above_the_maximum();
/// Each option has a sentence, because the reference of options consists of them.
void help_is_empty();
/// option_duration("interval", "1.5s"), option_bytes("limit", "64MB"): defaults and bounds are
/// written as in a manifest, "1500ms" and "64MiB".
void a_duration_is_a_whole_number_and_one_of_ns_us_ms_s_m_h();
void a_size_is_a_whole_number_and_one_of_B_KiB_MiB_GiB_TiB();
/// option_float("factor", 1.0 / 3): the table has the default as a text in decimal digits.
void this_number_needs_more_than_15_digits();
/// The table has a default list as a manifest writes it, each text in quotes.
void a_string_in_a_default_list_has_no_quote_or_backslash();
/// That text has room for 191 bytes.
void the_default_list_is_too_long();
}  // namespace option_error

/// How tables are made; plugin authors need nothing of this namespace.
namespace option_detail {

/// A default or bound as a manifest would have it: a literal, or text made here from a number or a
/// list. The made text lies in the object itself, so that a table is one constant without
/// allocations.
class Text {
 public:
  /// No text: there is no default or no bound.
  constexpr Text() = default;
  /// Borrows a literal.
  constexpr explicit Text(const char* literal) : literal_(literal) {}
  /// As a manifest has it.
  constexpr explicit Text(bool value) : literal_(value ? "true" : "false") {}
  /// In decimal digits; the smallest number has no positive counterpart, hence the unsigned
  /// arithmetic.
  constexpr explicit Text(int64_t value) {
    const bool negative = value < 0;
    put_whole(negative ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value), negative);
  }
  /// With as many decimals as the number needs: 0.001, 1, 2.5. Tries one decimal more until the
  /// text is the same number again.
  constexpr explicit Text(double value) {
    constexpr double kExact = 1e15;  // whole numbers below are told apart
    const double size = value < 0 ? -value : value;
    double power = 1;
    for (int decimals = 0; size * power < kExact; ++decimals, power *= 10) {
      // Rounded, because 0.29 * 100 is 28.999999999999996.
      const auto whole = static_cast<uint64_t>(size * power + 0.5);
      if (static_cast<double>(whole) / power != size) continue;
      put_whole(whole, value < 0, decimals);
      return;
    }
    option_error::this_number_needs_more_than_15_digits();
  }
  /// As a manifest has a list: ["a", "b"].
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

  /// For the descriptor's row. Null: there is none. The text is borrowed from this object.
  constexpr const char* c_str() const {
    return literal_ != nullptr ? literal_ : size_ == 0 ? nullptr : made_;
  }

 private:
  /// Room of a made text, with the NUL at the end. Literals have no such limit.
  static constexpr size_t kMadeBytesMax = 192;

  /// Appends one character; the array's last byte stays NUL.
  constexpr void put(char c) {
    if (size_ + 1 >= kMadeBytesMax) option_error::the_default_list_is_too_long();
    made_[size_++] = c;
  }
  /// Collects the digits from the last one on and writes them in order, with a point before the
  /// last `decimals` of them.
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

  /// Not null if the text was given as a literal; otherwise the text is in made_.
  const char* literal_ = nullptr;
  char made_[kMadeBytesMax] = {};
  /// Characters in made_.
  size_t size_ = 0;
};

/// Whether a key has 1 to 64 characters of a-z, 0-9 and '_'. The kernel asks the same of
/// descriptors that were made by hand.
constexpr bool is_key(std::string_view key) {
  return !key.empty() && key.size() <= 64 && std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

/// Whether a value is one of "text|json".
constexpr bool is_choice(std::string_view value, std::string_view choices) {
  while (true) {
    const size_t bar = choices.find('|');
    if (choices.substr(0, bar) == value) return true;
    if (bar == std::string_view::npos) return false;
    choices.remove_prefix(bar + 1);
  }
}

/// What values of a type are compared by: nanoseconds of durations, bytes of sizes, the number
/// itself of numbers. Also the check that a text is a duration or a size at all.
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

/// A finished row: what help() gives. An OptionTable takes these.
struct Option {
  /// The key in the manifest.
  const char* key = nullptr;
  /// A value of atoll_option_type (abi/plugin.h).
  uint32_t type = 0;
  /// ATOLL_OPTION_REQUIRED and the others (abi/plugin.h).
  uint32_t flags = 0;
  /// As a manifest would have them; empty: there is none.
  option_detail::Text default_value;
  /// Both bounds are allowed values.
  option_detail::Text minimum;
  option_detail::Text maximum;
  /// "text|json"; null: any text.
  const char* choices = nullptr;
  /// One sentence.
  const char* help = nullptr;
};

/// A row without its help yet. Each function returns a new draft, so the calls form a chain that
/// ends with help().
/// \tparam kType  a value of atoll_option_type (abi/plugin.h)
/// \tparam Value  how a table writes a value of the type: int64_t, double, bool, or a literal such
/// as "15s"
template <uint32_t kType, class Value>
class OptionDraft {
  /// Whether the type has an order, and so a range.
  static constexpr bool kOrdered = kType == ATOLL_OPTION_INT || kType == ATOLL_OPTION_FLOAT ||
                                   kType == ATOLL_OPTION_DURATION || kType == ATOLL_OPTION_BYTES;
  /// Whether a value consists of several texts.
  static constexpr bool kMany = kType == ATOLL_OPTION_STRING_LIST || kType == ATOLL_OPTION_STRING_MAP;

 public:
  /// An option without a default. Where a manifest does not set it, its value is empty, 0 or false,
  /// unless it is required().
  constexpr explicit OptionDraft(const char* key) {
    if (!option_detail::is_key(key)) option_error::a_key_is_1_to_64_of_a_to_z_0_to_9_and_underscore();
    row_.key = key;
    row_.type = kType;
  }
  /// An option with a default, which is checked against the range and the choices when these are
  /// said.
  constexpr OptionDraft(const char* key, Value value) : OptionDraft(key) {
    row_.default_value = option_detail::Text(value);
    // Refuses a text that is no duration or no size.
    if constexpr (kOrdered) (void)option_detail::order_of<kType>(value);
    if constexpr (!kMany) default_ = value;
    has_default_ = true;
  }

  /// Values lie between the two; both ends are allowed values. Durations and sizes are written as
  /// in a manifest: range("1s", "24h"). For integers, numbers, durations and sizes only.
  constexpr OptionDraft range(Value minimum, Value maximum) const requires(kOrdered) {
    using option_detail::order_of;
    if (order_of<kType>(maximum) < order_of<kType>(minimum)) option_error::the_minimum_is_above_the_maximum();
    return at_least(minimum).at_most(maximum);
  }
  /// Values are this or greater: at_least(1).
  constexpr OptionDraft at_least(Value minimum) const requires(kOrdered) {
    using option_detail::order_of;
    OptionDraft draft = *this;
    draft.row_.minimum = option_detail::Text(minimum);
    const auto least = order_of<kType>(minimum);
    if (has_default_ && order_of<kType>(default_) < least)
      option_error::the_default_is_outside_of_the_range();
    return draft;
  }
  /// Values are this or smaller: at_most("1GiB").
  constexpr OptionDraft at_most(Value maximum) const requires(kOrdered) {
    using option_detail::order_of;
    OptionDraft draft = *this;
    draft.row_.maximum = option_detail::Text(maximum);
    const auto most = order_of<kType>(maximum);
    if (has_default_ && most < order_of<kType>(default_)) option_error::the_default_is_outside_of_the_range();
    return draft;
  }
  /// The value is one of these texts, which all stand in one: choices("text|json"). A manifest with
  /// another value is refused, and the message proposes the nearest choice. The empty text is
  /// allowed where it is one of them: choices("|text|json"). For strings only; for a number, use a
  /// range.
  constexpr OptionDraft choices(const char* choices) const requires(kType == ATOLL_OPTION_STRING) {
    if (has_default_ && !option_detail::is_choice(default_, choices)) {
      option_error::the_default_is_not_among_the_choices();
    }
    OptionDraft draft = *this;
    draft.row_.choices = choices;
    return draft;
  }
  /// The instance listens at this TCP address, "host:port". The kernel checks the text's form, and
  /// that no two instances of the manifest listen at the same port of a host. In a reload's trial
  /// of new files the port is 0. Of a bool: where the value is false, the instance listens at none
  /// of its addresses, and the same addresses may be those of another instance.
  constexpr OptionDraft listens() const requires(kType == ATOLL_OPTION_STRING || kType == ATOLL_OPTION_BOOL) {
    return flagged(ATOLL_OPTION_LISTENS);
  }
  /// Where the value is true, the instance's addresses may be those of other instances that say so
  /// too, as with SO_REUSEPORT.
  constexpr OptionDraft shares_ports() const requires(kType == ATOLL_OPTION_BOOL) {
    return flagged(ATOLL_OPTION_SHARES_PORTS);
  }
  /// A manifest without this option is refused. Such a row has no default.
  constexpr OptionDraft required() const {
    if (has_default_) option_error::a_required_option_has_no_default();
    return flagged(ATOLL_OPTION_REQUIRED);
  }
  /// The path of a file or folder that the instance writes to. In a reload's trial of new files the
  /// instance gets another path instead, at which nothing exists, so that the trial harms nothing
  /// of what serves. An empty text stays empty.
  constexpr OptionDraft state() const requires(kType == ATOLL_OPTION_STRING) {
    return flagged(ATOLL_OPTION_STATE);
  }
  /// Finishes the row. The sentence is the option's documentation, in docs/manifest.md and in
  /// `atoll --list`. It says the unit and what special values mean, and does not repeat the default
  /// and the range, which are shown beside it.
  constexpr Option help(const char* sentence) const {
    if (*sentence == '\0') option_error::help_is_empty();
    Option row = row_;
    row.help = sentence;
    // A list or a map has the empty one as its default, which the reference of options shows.
    const bool is_empty = !has_default_ && (row.flags & ATOLL_OPTION_REQUIRED) == 0;
    if (kMany && is_empty)
      row.default_value = option_detail::Text(kType == ATOLL_OPTION_STRING_LIST ? "[]" : "{}");
    return row;
  }

 private:
  /// The same draft with one more flag of atoll_option_v1.
  constexpr OptionDraft flagged(uint32_t flag) const {
    OptionDraft draft = *this;
    draft.row_.flags |= flag;
    return draft;
  }

  /// The row as far as the calls of the chain have said it.
  Option row_;
  /// The default in the table's own form, to compare it with bounds and choices that are said
  /// later.
  std::conditional_t<kMany, std::nullptr_t, Value> default_{};
  /// Whether the row has a default, which decides what required() and the bounds check.
  bool has_default_ = false;
};

/// `key = true`; read by Options::get_bool(). The default has to be said.
constexpr auto option_bool(const char* key, std::same_as<bool> auto value) {
  return OptionDraft<ATOLL_OPTION_BOOL, bool>(key, value);
}
/// `key = 5`, a whole number of 64 bits, signed; read by Options::get_int(). Without a default: 0.
constexpr auto option_int(const char* key) { return OptionDraft<ATOLL_OPTION_INT, int64_t>(key); }
/// `key = 5`, with the default `value`: option_int("threads", 4).range(1, 64).
constexpr auto option_int(const char* key, int64_t value) {
  return OptionDraft<ATOLL_OPTION_INT, int64_t>(key, value);
}
/// `key = 0.5`; read by Options::get_float(). Without a default: 0.
constexpr auto option_float(const char* key) { return OptionDraft<ATOLL_OPTION_FLOAT, double>(key); }
/// `key = 0.5`, with the default `value`: option_float("temperature", 1.0). A manifest may write a
/// whole number, too.
constexpr auto option_float(const char* key, double value) {
  return OptionDraft<ATOLL_OPTION_FLOAT, double>(key, value);
}
/// `key = "text"`; read by Options::get_string(). Without a default: the empty text.
constexpr auto option_string(const char* key) { return OptionDraft<ATOLL_OPTION_STRING, const char*>(key); }
/// `key = "text"`, with the default `value`: option_string("mode", "fast").choices("fast|exact").
constexpr auto option_string(const char* key, const char* value) {
  return OptionDraft<ATOLL_OPTION_STRING, const char*>(key, value);
}
/// `key = "250ms"`, a whole number and one of ns, us, ms, s, m, h; read by
/// Options::get_duration_ns(), in nanoseconds. Without a default: 0.
constexpr auto option_duration(const char* key) {
  return OptionDraft<ATOLL_OPTION_DURATION, const char*>(key);
}
/// The same with a default: option_duration("interval", "15s").
constexpr auto option_duration(const char* key, const char* value) {
  return OptionDraft<ATOLL_OPTION_DURATION, const char*>(key, value);
}
/// `key = "64MiB"`, a whole number and one of B, KiB, MiB, GiB, TiB, or no unit for bytes; read by
/// Options::get_bytes(). Without a default: 0.
constexpr auto option_bytes(const char* key) { return OptionDraft<ATOLL_OPTION_BYTES, const char*>(key); }
/// The same with a default: option_bytes("limit", "64MiB").
constexpr auto option_bytes(const char* key, const char* value) {
  return OptionDraft<ATOLL_OPTION_BYTES, const char*>(key, value);
}
/// `key = ["a", "b"]`; read by Options::get_strings(). Without a default: the empty list.
constexpr auto option_string_list(const char* key) {
  return OptionDraft<ATOLL_OPTION_STRING_LIST, std::initializer_list<const char*>>(key);
}
/// The same with a default: option_string_list("paths", {"/srv/a", "/srv/b"}).
constexpr auto option_string_list(const char* key, std::initializer_list<const char*> value) {
  return OptionDraft<ATOLL_OPTION_STRING_LIST, std::initializer_list<const char*>>(key, value);
}
/// `key = { name = "text" }`; read by Options::get_map(). A number in the manifest counts as its
/// text: `{ weight = 3 }`. There is no default but the empty map.
constexpr auto option_string_map(const char* key) {
  return OptionDraft<ATOLL_OPTION_STRING_MAP, std::nullptr_t>(key);
}

/// The rows as the descriptor (abi/plugin.h) has them. Defaults and bounds point into the table
/// itself, so it stays at its address: it is neither copied nor moved. In a unit test,
/// atoll/testing/option_table.h gives a FakeOptions the defaults of a table.
template <size_t kRows>
class OptionTable {
 public:
  /// Taken where a row has no help(), only to say so in a message.
  template <class... Rows>
  constexpr explicit OptionTable(const Rows&...) {
    static_assert((std::same_as<Rows, Option> && ...), "every option ends with .help(\"a sentence\")");
  }
  /// The rows in the order in which the documentation shows them.
  template <std::same_as<Option>... Rows>
  constexpr explicit OptionTable(const Rows&... rows) : options_{rows...} {
    // Each key is compared with those before it.
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
  /// The texts of a copy would be those of the first table.
  OptionTable(const OptionTable&) = delete;
  OptionTable& operator=(const OptionTable&) = delete;

  /// As a range, so that the table converts to std::span<const atoll_option_v1>, which `.options`
  /// of ATOLL_PLUGIN is.
  constexpr const atoll_option_v1* begin() const noexcept { return rows_; }
  constexpr const atoll_option_v1* end() const noexcept { return rows_ + kRows; }
  /// How many options there are.
  static constexpr size_t size() noexcept { return kRows; }

 private:
  /// The rows as they were written; they hold the texts that were made.
  Option options_[kRows];
  /// The same rows in the descriptor's form, which borrow those texts.
  atoll_option_v1 rows_[kRows] = {};
};

/// Lets the compiler count the rows.
template <class... Rows>
OptionTable(const Rows&...) -> OptionTable<sizeof...(Rows)>;

}  // namespace atl
