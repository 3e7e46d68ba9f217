/// The items of Accept and its like: "text/plain;version=0.0.4;q=0.5, */*".
#pragma once

#include <optional>
#include <string_view>

namespace atl::frontends::http {

/// Views into the header's value.
struct AcceptItem {
  std::string_view name;        ///< "text/plain", without blanks around it
  std::string_view parameters;  ///< what stands behind the first ';', as it was sent
  int weight = 1000;            ///< its q in thousandths; 0: not wanted, or no number

  /// The value of a parameter, without quotes; nothing: it has none of that name.
  std::optional<std::string_view> parameter(std::string_view wanted) const noexcept;
};

/// The next item of a list, which `rest` then no longer has. False: there is none left.
bool next_accept_item(std::string_view* rest, AcceptItem* item) noexcept;

}  // namespace atl::frontends::http
