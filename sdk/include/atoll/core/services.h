/// What a plugin provides and needs, as rows of ATOLL_PLUGIN (plugin.h). Each row names the interface's type:
/// its id comes from there, and that the plugin has it is checked while it is compiled.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include "atoll/abi/plugin.h"

namespace atl {

/// Most rows of one plugin.
inline constexpr size_t kProvidedMax = 8;
inline constexpr size_t kNeededMax = 16;

/// One provided service; made by provide().
template <class Service, auto kPart>
struct ProvideRow {
  using Interface = Service;
  static constexpr auto kFrom = kPart;

  uint32_t minor_number = 0;
  int32_t rank_number = 0;

  /// The highest minor version implemented, where the interface has one above 0.
  constexpr ProvideRow minor(uint32_t value) const { return {value, rank_number}; }
  /// Among providers of one interface the highest rank is bound when nobody names one.
  constexpr ProvideRow rank(int32_t value) const { return {minor_number, value}; }
};

/// The plugin's class is the Interface: it derives from it.
template <class Interface>
constexpr ProvideRow<Interface, nullptr> provide() {
  return {};
}
/// Something of the plugin's is the Interface: the member function kFrom, called without arguments from
/// after init() until the plugin's end, returns a reference to it.
template <class Interface, auto kFrom>
constexpr ProvideRow<Interface, kFrom> provide() {
  return {};
}

namespace services_detail {

template <class Interface>
concept HasId = requires {
  std::string_view(Interface::kInterfaceId);
};

template <class Interface>
constexpr const char* id_of() {
  static_assert(HasId<Interface>,
                "a service's interface says its id: static constexpr std::string_view kInterfaceId");
  if constexpr (HasId<Interface>) {
    return Interface::kInterfaceId.data();
  } else {
    return "";
  }
}

/// An interface with `static constexpr bool kOneProvider = true` has one provider in a server.
template <class Interface>
constexpr uint32_t provided_flags() {
  if constexpr (requires { Interface::kOneProvider; }) {
    return Interface::kOneProvider ? ATOLL_PROVIDED_ALONE : 0;
  } else {
    return 0;
  }
}

template <class T, class Interface>
void* itself(T& plugin) {
  return static_cast<Interface*>(&plugin);
}
template <class T, class Interface, auto kFrom>
void* part(T& plugin) {
  Interface& service = (plugin.*kFrom)();
  return &service;
}

/// How to get at the service, or null and an error of the compiler.
template <class T, class Interface, auto kFrom>
constexpr auto getter() -> void* (*)(T&) {
  if constexpr (std::is_null_pointer_v<decltype(kFrom)>) {
    constexpr bool kIsOne = std::derived_from<T, Interface>;
    static_assert(
        kIsOne,
        "provide<Interface>(): the plugin's class does not derive from Interface, publicly and once; if a "
        "part of it does, provide<Interface, &Class::part>()");
    if constexpr (kIsOne) return &itself<T, Interface>;
  } else if constexpr (!std::is_invocable_v<decltype(kFrom), T&>) {
    static_assert(
        std::is_invocable_v<decltype(kFrom), T&>,
        "provide<Interface, &Class::part>(): part is no member function of the plugin's class that takes "
        "nothing");
  } else {
    using Returned = std::invoke_result_t<decltype(kFrom), T&>;
    constexpr bool kIsOne = std::is_lvalue_reference_v<Returned> &&
                            std::derived_from<std::remove_reference_t<Returned>, Interface>;
    static_assert(
        kIsOne,
        "provide<Interface, &Class::part>(): part() returns no reference to something that derives from "
        "Interface, publicly and once");
    if constexpr (kIsOne) return &part<T, Interface, kFrom>;
  }
  return nullptr;
}

/// Never called: the compiler names it where a list contradicts itself.
void an_interface_is_provided_twice();
void an_interface_is_needed_twice();

}  // namespace services_detail

/// Of plugin class T: `.provides = {provide<Backend>(), ...}`.
template <class T>
class ProvidedServices {
 public:
  constexpr ProvidedServices() = default;
  template <class... Rows>
  requires(requires { typename Rows::Interface; } && ...) constexpr ProvidedServices(Rows... rows)
      : rows_{{services_detail::id_of<typename Rows::Interface>(), rows.minor_number, rows.rank_number,
               services_detail::provided_flags<typename Rows::Interface>()}...},
        getters_{services_detail::getter<T, typename Rows::Interface, Rows::kFrom>()...},
        size_(sizeof...(rows)) {
    static_assert(sizeof...(rows) <= kProvidedMax, "a plugin provides 8 services at most");
    for (size_t i = 0; i < size_; ++i) {
      for (size_t j = 0; j < i; ++j) {
        if (std::string_view(rows_[i].id) == rows_[j].id) services_detail::an_interface_is_provided_twice();
      }
    }
  }

  constexpr const atoll_provided_v1* rows() const noexcept { return rows_; }
  constexpr uint32_t size() const noexcept { return size_; }
  /// Null if it is not among them.
  void* find(T& plugin, std::string_view id) const {
    for (size_t i = 0; i < size_; ++i) {
      if (id == rows_[i].id) return getters_[i](plugin);
    }
    return nullptr;
  }

 private:
  atoll_provided_v1 rows_[kProvidedMax] = {};
  void* (*getters_[kProvidedMax])(T&) = {};
  uint32_t size_ = 0;
};

/// One need; made by need(), optional() or many().
struct NeedRow {
  atoll_need_v1 row;

  /// The lowest minor version that will do.
  constexpr NeedRow minor(uint32_t value) const { return {{row.id, value, row.flags}}; }
};

/// The plugin does not start without a provider.
template <class Interface>
constexpr NeedRow need() {
  return {{services_detail::id_of<Interface>(), 0, 0}};
}
/// It starts without one too.
template <class Interface>
constexpr NeedRow optional() {
  return {{services_detail::id_of<Interface>(), 0, ATOLL_NEED_OPTIONAL}};
}
/// Any number of providers that come and go while it runs: it follows ServiceChanged.
template <class Interface>
constexpr NeedRow many() {
  return {{services_detail::id_of<Interface>(), 0, ATOLL_NEED_MANY}};
}

/// `.needs = {need<ModelCatalog>(), ...}`
class NeededServices {
 public:
  constexpr NeededServices() = default;
  template <std::same_as<NeedRow>... Rows>
  constexpr NeededServices(Rows... rows) : rows_{rows.row...}, size_(sizeof...(rows)) {
    static_assert(sizeof...(rows) <= kNeededMax, "a plugin needs 16 services at most");
    for (size_t i = 0; i < size_; ++i) {
      for (size_t j = 0; j < i; ++j) {
        if (std::string_view(rows_[i].id) == rows_[j].id) services_detail::an_interface_is_needed_twice();
      }
    }
  }

  constexpr const atoll_need_v1* rows() const noexcept { return rows_; }
  constexpr uint32_t size() const noexcept { return size_; }

 private:
  atoll_need_v1 rows_[kNeededMax] = {};
  uint32_t size_ = 0;
};

}  // namespace atl
