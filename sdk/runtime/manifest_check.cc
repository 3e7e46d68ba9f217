#include "atoll/runtime/manifest_check.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include "atoll/core/host_port.h"
#include "atoll/core/option_check.h"

namespace atl::runtime {
namespace {

const RawValue::Member* written(const ManifestEntry& entry, std::string_view key) {
  auto found = std::find_if(entry.options.begin(), entry.options.end(),
                            [&](const RawValue::Member& option) { return option.key == key; });
  return found == entry.options.end() ? nullptr : &*found;
}

/// Of the element where there is one, else of the option's value.
const SourceLocation& place_in(const RawValue& value, std::string_view element) {
  if (const auto* array = std::get_if<RawValue::Array>(&value.data)) {
    size_t index = 0;
    const auto [end, error] = std::from_chars(element.data(), element.data() + element.size(), index);
    const bool is_index = error == std::errc() && end == element.data() + element.size();
    if (is_index && index < array->size()) return (*array)[index].where;
  }
  const RawValue::Member* member = value.table() == nullptr ? nullptr : value.find(element);
  return member == nullptr ? value.where : member->value.where;
}

std::span<const atoll_option_v1> rows(const ManifestEntry& entry) {
  return {entry.plugin.options, entry.plugin.options_count};
}

class EntryCheck final : public OptionCheck {
 public:
  EntryCheck(const ManifestEntry& entry, Problems& problems) : entry_(entry), problems_(problems) {}
  virtual ~EntryCheck() = default;

  const Options& options() const noexcept override { return entry_.values; }
  bool passed() const noexcept override { return passed_; }
  void report(std::string_view key, std::string_view element, std::string_view text) noexcept override {
    passed_ = false;
    const OptionText named = OptionText::split(text);
    if (key.empty() && is_option(named.key)) key = named.key;
    if (!key.empty() && key == named.key) text = named.rest;
    if (entry_.values.refused(key)) return;
    const RawValue::Member* option = written(entry_, key);
    if (option == nullptr && text.starts_with("options '")) {
      option = first_written_of(text);
      if (option != nullptr) key = option->key;
    }
    const bool is_map = option != nullptr && option->value.table() != nullptr && !element.empty();
    problems_.add(option == nullptr ? entry_.where : place_in(option->value, element), entry_.section,
                  key.empty() ? "" : ".", key, is_map ? "." : "", is_map ? element : "", ": ", text);
  }

 private:
  /// Of the options that a text names in quotes, the first one that is written.
  const RawValue::Member* first_written_of(std::string_view text) const {
    size_t end = 0;
    for (size_t at = text.find('\''); at != std::string_view::npos; at = text.find('\'', end + 1)) {
      end = text.find('\'', at + 1);
      if (end == std::string_view::npos) break;
      const RawValue::Member* option = written(entry_, text.substr(at + 1, end - at - 1));
      if (option != nullptr) return option;
    }
    return nullptr;
  }
  bool is_option(std::string_view key) const {
    return std::any_of(rows(entry_).begin(), rows(entry_).end(),
                       [&](const auto& row) { return key == row.key; });
  }

  const ManifestEntry& entry_;
  Problems& problems_;
  bool passed_ = true;
};

struct Address {
  const ManifestEntry* entry;
  std::string_view key;
  HostPort address;
  bool shared;
};

template <class Use>
void each_address(const ManifestEntry& entry, Use use) {
  for (const atoll_option_v1& row : rows(entry)) {
    const bool is_address = (row.flags & ATOLL_OPTION_LISTENS) != 0 && row.type == ATOLL_OPTION_STRING;
    if (is_address && !entry.values.refused(row.key))
      use(std::string_view(row.key), entry.values.get_string(row.key));
  }
}

bool is_any(std::string_view host) { return host == "0.0.0.0" || host == "::"; }

/// As far as texts tell. The system has the last word when they are listened at.
bool clash(const Address& a, const Address& b) {
  if (a.address.port == 0 || a.address.port != b.address.port || (a.shared && b.shared)) return false;
  return a.address.host == b.address.host || is_any(a.address.host) || is_any(b.address.host);
}

}  // namespace

void check_entry(const ManifestEntry& entry, Problems& problems) {
  EntryCheck check(entry, problems);
  each_address(entry, [&](std::string_view key, const std::string& text) {
    if (!HostPort::parse(text))
      check.problem(key, "found '", text, "', expected host:port or [ipv6]:port, such as 127.0.0.1:8000");
  });
  if (entry.plugin.check == nullptr) return;
  entry.plugin.check(reinterpret_cast<atoll_option_check*>(static_cast<OptionCheck*>(&check)));
  if (std::string defect = entry.values.take_defect(); !defect.empty()) check.problem({}, defect);
}

void check_addresses(std::span<const ManifestEntry> entries, Problems& problems) {
  std::vector<Address> addresses;
  for (const ManifestEntry& entry : entries) {
    auto has_bool = [&](uint32_t flag, bool value) {
      return std::any_of(rows(entry).begin(), rows(entry).end(), [&](const atoll_option_v1& row) {
        return (row.flags & flag) != 0 && row.type == ATOLL_OPTION_BOOL &&
               entry.values.get_bool(row.key) == value;
      });
    };
    if (has_bool(ATOLL_OPTION_LISTENS, false)) continue;
    const bool shared = has_bool(ATOLL_OPTION_SHARES_PORTS, true);
    each_address(entry, [&](std::string_view key, const std::string& text) {
      std::optional<HostPort> read = HostPort::parse(text);
      if (!read) return;
      const Address address{&entry, key, std::move(*read), shared};
      auto other = std::find_if(addresses.begin(), addresses.end(),
                                [&](const Address& before) { return clash(before, address); });
      if (other == addresses.end()) return addresses.push_back(address);
      EntryCheck(entry, problems)
          .problem(key, "found '", text, "', at whose port [", other->entry->section, "] listens (",
                   other->key, " = '", other->address.text(), "')");
    });
  }
}

}  // namespace atl::runtime
