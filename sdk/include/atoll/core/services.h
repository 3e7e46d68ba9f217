/// What a plugin provides and what it needs, as rows of ATOLL_PLUGIN (plugin.h).
///
///     .provides = {provide<Backend>(),                                 // the plugin's class derives from it
///                  provide<MetricSource, &Mine::counters>().rank(10)}, // Mine::counters() returns it
///     .needs = {need<ModelCatalog>(),       // the server does not start without one
///               optional<Tracing>(),        // may be absent, and may come and go: see followed_service.h
///               many<Memory>().minor(1)},   // any number that come and go
///
/// Each row names the interface's type. The row's id comes from the type, and whether the plugin's
/// class has the interface is checked while the plugin is compiled. The server reads the rows of
/// all plugins before it calls any function of one.
///
/// For each need the server chooses one provider among the enabled instances of the manifest, so:
/// - The manifest may name the instance, in the table of the instance that needs the service:
/// `needs = { "atoll.repository/1" = "archive" }`. The manifest is refused if there is no such
/// instance, if it does not provide the interface, or if its minor version is too low.
/// - Otherwise it is the instance with the highest rank among those whose minor version is enough.
/// If two have the same highest rank, the manifest is refused and has to name one; for many() that
/// does not matter.
/// - If there is none, a manifest is refused for need(), and accepted for optional() and many().
///
/// A required provider is started before those who need it, and stopped after them. So required
/// needs must form no cycle; a manifest with one is refused, with the names in the cycle. Providers
/// of optional() and many() are started first where that makes no cycle.
///
/// Two plugins may share an interface of their own. Its header is all that they have in common:
///
///     class Greeter {
///      public:
///       static constexpr std::string_view kInterfaceId = "example.greeter/1";
///       virtual Status greet(std::string_view name) noexcept = 0;  // says who may call it, and how it fails
///       // since minor 1: new functions stand at the end, and the provider's row says .minor(1)
///       virtual Status greet_all() noexcept { return unimplemented("greeting all"); }
///      protected:
///       ~Greeter() = default;  // nobody destroys a service through its interface
///     };
///
/// All functions are noexcept. A change that is no addition at the end makes another interface,
/// with the next number after the slash. Only types whose layout the build tag pins cross it: those
/// of the standard library and of the SDK (docs/plugin-guide.md).
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include "atoll/abi/plugin.h"

namespace atl {

/// The most rows that one plugin may have. A longer list does not compile.
inline constexpr size_t kProvidedMax = 8;
inline constexpr size_t kNeededMax = 16;

/// One provided service; made by provide().
template <class Service, auto kPart>
struct ProvideRow {
  /// The abstract class of the interface.
  using Interface = Service;
  /// nullptr, or the member function that returns the service.
  static constexpr auto kFrom = kPart;

  /// Set by the two functions below.
  uint32_t minor_number = 0;
  int32_t rank_number = 0;

  /// The highest minor version that the plugin implements, where the interface has one above 0. A
  /// plugin that needs a newer minor than this is not bound to this provider. The holder of the
  /// service sees the number in Service::minor().
  constexpr ProvideRow minor(uint32_t value) const { return {value, rank_number}; }
  /// Where several instances provide an interface and the manifest names none of them, the instance
  /// of the highest rank is bound. The default is 0.
  constexpr ProvideRow rank(int32_t value) const { return {minor_number, value}; }
};

/// The plugin's class itself is the service: it derives from Interface, publicly and once. For
/// another class the compiler says so, and names the second form of provide().
template <class Interface>
constexpr ProvideRow<Interface, nullptr> provide() {
  return {};
}
/// A part of the plugin is the service. The member function kFrom takes no arguments and returns a
/// reference to the part. The server calls the function after init(), and may do so until the
/// plugin's destructor, so the part is made in init() at the latest and always the same.
template <class Interface, auto kFrom>
constexpr ProvideRow<Interface, kFrom> provide() {
  return {};
}

namespace services_detail {

/// What each interface has: `static constexpr std::string_view kInterfaceId`.
template <class Interface>
concept HasId = requires {
  std::string_view(Interface::kInterfaceId);
};

/// The id as the descriptor has it: "atoll.backend/1". A type without one gets an error of the
/// compiler that says so.
template <class Interface>
constexpr const char* id_of() {
  static_assert(HasId<Interface>,
                "a service's interface says its id: static constexpr std::string_view kInterfaceId");
  if constexpr (HasId<Interface>) {
    // A literal, so there is a NUL behind it, as the descriptor wants.
    return Interface::kInterfaceId.data();
  } else {
    return "";
  }
}

/// An interface with `static constexpr bool kOneProvider = true` (models/model_control.h) takes one
/// provider in a server: a manifest with two is refused.
template <class Interface>
constexpr uint32_t provided_flags() {
  if constexpr (requires { Interface::kOneProvider; }) {
    return Interface::kOneProvider ? ATOLL_PROVIDED_ALONE : 0;
  } else {
    return 0;
  }
}

/// The service of provide<Interface>(). A base may lie at another address than the object, so the
/// pointer is converted here, where both types are known.
template <class T, class Interface>
void* itself(T& plugin) {
  return static_cast<Interface*>(&plugin);
}
/// The service of provide<Interface, kFrom>().
template <class T, class Interface, auto kFrom>
void* part(T& plugin) {
  Interface& service = (plugin.*kFrom)();
  return &service;
}

/// Chooses one of the two above. A row that does not fit the class gets null, and an error of the
/// compiler that says what is wrong in the words below.
template <class T, class Interface, auto kFrom>
constexpr auto getter() -> void* (*)(T&) {
  if constexpr (std::is_null_pointer_v<decltype(kFrom)>) {
    // provide<Interface>(): false also where the base is private, or comes twice.
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
    // A part by value would be gone when the caller uses it, so a reference is asked for.
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

/// Never called: the compiler names one of these two functions where a list contradicts itself.
void an_interface_is_provided_twice();
void an_interface_is_needed_twice();

}  // namespace services_detail

/// The rows of plugin class T, written as `.provides = {provide<Backend>(), ...}`. A constant: the
/// descriptor points into it.
template <class T>
class ProvidedServices {
 public:
  constexpr ProvidedServices() = default;
  /// Takes the rows in any order. Each interface may be among them once; who has several
  /// implementations makes several instances of the plugin.
  template <class... Rows>
  requires(requires { typename Rows::Interface; } && ...) constexpr ProvidedServices(Rows... rows)
      : rows_{{services_detail::id_of<typename Rows::Interface>(), rows.minor_number, rows.rank_number,
               services_detail::provided_flags<typename Rows::Interface>()}...},
        getters_{services_detail::getter<T, typename Rows::Interface, Rows::kFrom>()...},
        size_(sizeof...(rows)) {
    // The rows lie in arrays of fixed size, because the descriptor is one constant.
    static_assert(sizeof...(rows) <= kProvidedMax, "a plugin provides 8 services at most");
    // In a constant, a call of a function that is not constexpr is an error of the compiler.
    for (size_t i = 0; i < size_; ++i) {
      for (size_t j = 0; j < i; ++j) {
        if (std::string_view(rows_[i].id) == rows_[j].id) services_detail::an_interface_is_provided_twice();
      }
    }
  }

  /// The rows as the descriptor (abi/plugin.h) has them.
  constexpr const atoll_provided_v1* rows() const noexcept { return rows_; }
  /// How many rows there are.
  constexpr uint32_t size() const noexcept { return size_; }
  /// The service with this id, for the function `query` of the descriptor; null if the plugin does
  /// not provide it.
  void* find(T& plugin, std::string_view id) const {
    for (size_t i = 0; i < size_; ++i) {
      if (id == rows_[i].id) return getters_[i](plugin);
    }
    return nullptr;
  }

 private:
  /// What the descriptor points to.
  atoll_provided_v1 rows_[kProvidedMax] = {};
  // How to get the service of each row, in the same order.
  void* (*getters_[kProvidedMax])(T&) = {};
  /// How many rows there are.
  uint32_t size_ = 0;
};

/// One need; made by need(), optional() or many().
struct NeedRow {
  /// As the descriptor has it (abi/plugin.h).
  atoll_need_v1 row;

  /// The lowest minor version that is enough: need<ModelCatalog>().minor(3). Providers of older
  /// ones are not bound.
  constexpr NeedRow minor(uint32_t value) const { return {{row.id, value, row.flags}}; }
};

/// The plugin does not work without a provider. The server does not start without one, and a reload
/// that takes the last provider away is refused. When a reload builds the provider anew, it builds
/// this plugin anew too. Find the service once in start(), by Registry::find(), keep the Service,
/// and let it go in stop().
template <class Interface>
constexpr NeedRow need() {
  return {{services_detail::id_of<Interface>(), 0, 0}};
}
/// The plugin works without a provider too. The provider may come, be replaced and go while the
/// plugin runs, and the plugin is not built anew for that. Hold a Followed<Interface>
/// (followed_service.h) instead of a Service.
template <class Interface>
constexpr NeedRow optional() {
  return {{services_detail::id_of<Interface>(), 0, ATOLL_NEED_OPTIONAL}};
}
/// The plugin uses any number of providers, which come and go while it runs, such as the catalog
/// its backends. It lists them by Registry::list(), finds each by its instance name, and follows
/// the event ServiceChanged (events.h). The order in which they are listed is that of their names.
template <class Interface>
constexpr NeedRow many() {
  return {{services_detail::id_of<Interface>(), 0, ATOLL_NEED_MANY}};
}

/// The rows, written as `.needs = {need<ModelCatalog>(), ...}`. A plugin can acquire no interface
/// that is missing here.
class NeededServices {
 public:
  constexpr NeededServices() = default;
  /// Takes the rows in any order. Each interface may be among them once.
  template <std::same_as<NeedRow>... Rows>
  constexpr NeededServices(Rows... rows) : rows_{rows.row...}, size_(sizeof...(rows)) {
    // As for ProvidedServices.
    static_assert(sizeof...(rows) <= kNeededMax, "a plugin needs 16 services at most");
    for (size_t i = 0; i < size_; ++i) {
      for (size_t j = 0; j < i; ++j) {
        if (std::string_view(rows_[i].id) == rows_[j].id) services_detail::an_interface_is_needed_twice();
      }
    }
  }

  /// The rows as the descriptor has them.
  constexpr const atoll_need_v1* rows() const noexcept { return rows_; }
  /// How many rows there are.
  constexpr uint32_t size() const noexcept { return size_; }

 private:
  /// What the descriptor points to.
  atoll_need_v1 rows_[kNeededMax] = {};
  uint32_t size_ = 0;
};

}  // namespace atl
