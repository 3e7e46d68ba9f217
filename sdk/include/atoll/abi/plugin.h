/* The binary contract between the kernel and a plugin, in plain C.
 *
 * A plugin is a shared object that exports exactly one symbol: the constant `atoll_plugin_v1`, of
 * the type atoll_plugin_v1_t. The kernel maps the file and reads this constant (name, needs,
 * options, build tag) of every plugin in the manifest. It decides whether all of them fit
 * together, and only then calls the first function. C++ authors do not fill the struct in by hand:
 * ATOLL_PLUGIN in atoll/core/plugin.h does that.
 *
 * The major version is part of the symbol's name. A minor version adds members at the end of the
 * struct. A kernel accepts a struct that is longer than its own and ignores the rest; it refuses a
 * shorter one.
 *
 * Every text and every table that the struct points to has to stay as it is while the file is
 * mapped. A text has at most 4096 bytes, and a table at most 1024 rows. A descriptor in C looks
 * like this:
 *
 *     const struct atoll_plugin_v1_t atoll_plugin_v1 = {
 *         .magic = ATOLL_PLUGIN_MAGIC, .struct_size = sizeof(struct atoll_plugin_v1_t),
 *         .abi_major = ATOLL_ABI_MAJOR, .abi_minor = ATOLL_ABI_MINOR, .build_tag = ATOLL_BUILD_TAG,
 *         .name = "examples/hello", .version = "1.0.0", .license = "Apache-2.0", .help = "Says hello.",
 *         .create = create, .start = start, .drain = drain, .stop = stop, .destroy = destroy,
 *         .query = query, .holding = holding}; */
#ifndef ATOLL_ABI_PLUGIN_H_
#define ATOLL_ABI_PLUGIN_H_

#include <stdint.h>
#ifdef __cplusplus
#include <cstddef> /* makes the standard library say what ATOLL_TAG_STL asks it */
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The name that the loader looks for in a plugin's file. */
#define ATOLL_PLUGIN_SYMBOL "atoll_plugin_v1"
/* The value of atoll_plugin_v1_t::magic. The kernel refuses a symbol that does not begin with it. */
#define ATOLL_PLUGIN_MAGIC 0x314C4F54415F4C50ull
/* The version of this contract. A plugin of another major is refused. */
#define ATOLL_ABI_MAJOR 1u
#define ATOLL_ABI_MINOR 1u

/* The number of the layout of the structs that cross the boundary (requests, tensors, traits,
 * statistics and so on). It grows by one with every change of a member of any of them, and a
 * plugin that was built with another number is refused. The sizes of the structs that each request
 * passes are asserted beside their definitions, so that a change is not overlooked. */
#define ATOLL_SDK_LAYOUT 5

/* The build tag. Interfaces cross the boundary as C++ vtables, so both sides have to agree on
 * everything that shapes them: the compiler's C++ ABI, the standard library's string ABI and debug
 * mode, the sanitizer's runtime, and the layout of structs. The kernel compares a plugin's tag
 * with its own as text, and refuses the plugin with both tags if they differ. An example:
 * "itanium-abi1017/libstdc++cxx11/sanitizer=none/layout=5". */
#define ATOLL_STRINGIFY_(x) #x
#define ATOLL_STRINGIFY(x) ATOLL_STRINGIFY_(x)
#ifndef __cplusplus
#define ATOLL_TAG_STL "c"
#elif defined(_GLIBCXX_DEBUG)
#define ATOLL_TAG_STL "libstdc++debug"
#elif defined(_GLIBCXX_USE_CXX11_ABI) && _GLIBCXX_USE_CXX11_ABI
#define ATOLL_TAG_STL "libstdc++cxx11"
#else
#define ATOLL_TAG_STL "other-stl"
#endif
#if defined(ATOLL_TAG_SANITIZER)
/* given by the build: sdk/proto hides the thread sanitizer from protobuf's headers */
#elif defined(__SANITIZE_ADDRESS__)
#define ATOLL_TAG_SANITIZER "address"
#elif defined(__SANITIZE_THREAD__)
#define ATOLL_TAG_SANITIZER "thread"
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ATOLL_TAG_SANITIZER "address"
#elif __has_feature(thread_sanitizer)
#define ATOLL_TAG_SANITIZER "thread"
#endif
#endif
#ifndef ATOLL_TAG_SANITIZER
#define ATOLL_TAG_SANITIZER "none"
#endif
#define ATOLL_BUILD_TAG                                                                               \
  "itanium-abi" ATOLL_STRINGIFY(__GXX_ABI_VERSION) "/" ATOLL_TAG_STL                                  \
                                                   "/sanitizer=" ATOLL_TAG_SANITIZER ATOLL_TAG_LAYOUT \
                                                   ATOLL_STRINGIFY(ATOLL_SDK_LAYOUT)
#define ATOLL_TAG_LAYOUT "/layout=" /* the layout's number is last */

/* Flags of a plugin: atoll_plugin_v1_t::flags. A flag that the kernel does not know makes it
 * refuse the plugin.
 *
 * RESIDENT: instances are stopped and destroyed, but the file is never unmapped. Set this flag if
 * the plugin links a library that cannot be unloaded, such as gRPC, or if another plugin may still
 * be returning through the plugin's code after the plugin's gate is empty. */
#define ATOLL_PLUGIN_RESIDENT 1u
/* SINGLETON: a manifest with two enabled instances of the plugin is refused. */
#define ATOLL_PLUGIN_SINGLETON 2u
/* UNTRIED: the plugin is never created in a trial. Before a reload runs a file's code for the
 * first time, a separate process makes the instance, starts and stops it, so that code that ends
 * its process harms nothing. Set this flag where a second instance beside the one that serves
 * would do harm that ATOLL_OPTION_LISTENS and ATOLL_OPTION_STATE do not prevent: the plugin takes
 * a device, loads the models again, or starts or ends other servers. */
#define ATOLL_PLUGIN_UNTRIED 4u

/* Flags of a provided interface.
 *
 * ALONE: a manifest with two enabled plugins that provide this interface is refused, because the
 * two would work against each other. */
#define ATOLL_PROVIDED_ALONE 1u

/* One interface that a plugin provides. */
typedef struct atoll_provided_v1 {
  /* "atoll.backend/1". The number after the slash is the major version. The words before it
   * consist of a-z, 0-9, '_' and '-', with a point between two words. */
  const char* id;
  /* The highest minor version that is implemented. A minor version adds functions at the end of
   * the interface. */
  uint32_t minor;
  /* Where several instances provide one interface and the manifest names none of them, the
   * instance with the highest rank is bound. A tie has to be decided by the manifest. */
  int32_t rank;
  /* ATOLL_PROVIDED_ALONE, or 0. */
  uint32_t flags;
} atoll_provided_v1;

/* Flags of a need. Without a flag, the server does not start without a provider, and the provider
 * is active before the plugin is started.
 *
 * OPTIONAL: the plugin starts without a provider too. The provider may come, be replaced and go
 * while the plugin runs. */
#define ATOLL_NEED_OPTIONAL 1u
/* MANY: the plugin uses any number of providers, which come and go while the plugin runs; this
 * implies OPTIONAL. A changed provider does not rebuild the plugin: the plugin watches the event
 * ServiceChanged (atoll/core/events.h). */
#define ATOLL_NEED_MANY 2u

/* One interface that a plugin uses. A plugin can acquire no interface that is missing in this
 * table. */
typedef struct atoll_need_v1 {
  /* As in atoll_provided_v1: "atoll.model_catalog/1". */
  const char* id;
  /* The lowest minor version that is enough. Older providers are not bound. */
  uint32_t minor;
  uint32_t flags;
} atoll_need_v1;

/* The types that the value of an option in the manifest may have, with the form in which it is
 * written. */
enum atoll_option_type {
  /* true or false */
  ATOLL_OPTION_BOOL = 0,
  /* A whole number, 64-bit signed. */
  ATOLL_OPTION_INT = 1,
  /* A number that is read as a double. */
  ATOLL_OPTION_FLOAT = 2,
  ATOLL_OPTION_STRING = 3,
  /* "250ms", "30s", "5m", "1h", "10us". The plugin reads it as nanoseconds. */
  ATOLL_OPTION_DURATION = 4,
  /* "64MiB", "4KiB", "1GiB", or a plain number of bytes. */
  ATOLL_OPTION_BYTES = 5,
  /* ["a", "b"] */
  ATOLL_OPTION_STRING_LIST = 6,
  /* { key = "value" } */
  ATOLL_OPTION_STRING_MAP = 7
};

/* Flags of an option. The value 2u is used by atoll/core/moved_option.h.
 *
 * REQUIRED: a manifest that does not set the option is refused. Such an option has no default. */
#define ATOLL_OPTION_REQUIRED 1u
/* LISTENS, on a STRING: the instance listens at this TCP address, "host:port"; with port 0 the
 * system chooses one. The kernel refuses a manifest in which two enabled instances listen at the
 * same port of the same host. In a trial the port is 0. On a BOOL: where the value is false, the
 * instance listens at none of its addresses. */
#define ATOLL_OPTION_LISTENS 4u
/* SHARES_PORTS, on a BOOL only: where the value is true, the instance shares the ports of its
 * addresses with other instances whose option says so too. */
#define ATOLL_OPTION_SHARES_PORTS 8u
/* STATE, on a STRING only: the path of a file or folder in which the instance keeps or writes
 * something. In a trial the value is another path, at which nothing exists yet; an empty text
 * stays empty. */
#define ATOLL_OPTION_STATE 16u

/* One row of a plugin's option table. A key in the manifest that is not in the table is an error.
 * Default, minimum and maximum are written as in the manifest ("30s", "0", "true", "[]"); NULL
 * means that there is none. */
typedef struct atoll_option_v1 {
  /* 1 to 64 characters of a-z, 0-9 and '_'. The keys "use", "enabled", "file" and "needs" are the
   * kernel's own. */
  const char* key;
  /* A value of enum atoll_option_type. */
  uint32_t type;
  uint32_t flags;
  /* Without a default, an option that is not REQUIRED is empty, 0 or false where the manifest does
   * not set it. */
  const char* default_value;
  /* The bounds are allowed values themselves. Only numbers, durations and sizes have them. */
  const char* minimum;
  const char* maximum;
  /* STRING only: all allowed values in one text, "text|json". NULL allows any value. */
  const char* choices;
  /* One sentence with the unit. `atoll --list` and docs/manifest.md show it. */
  const char* help;
} atoll_option_v1;

/* What the kernel hands to one plugin instance. The pointer is that of an atl::Host
 * (atoll/core/host.h). */
typedef struct atoll_host atoll_host;
/* NULL is success. Any other pointer is an atl::Status that its sender gave away with
 * Status::release(); the receiver owns it, and takes it with Status::take() (atoll/core/status.h). */
typedef struct atoll_status atoll_status;
/* The options of an instance that does not exist yet. The pointer is that of an atl::OptionCheck
 * (atoll/core/option_check.h). */
typedef struct atoll_option_check atoll_option_check;

/* The descriptor. The kernel calls all functions on its one control thread, one at a time. They
 * must not throw, and should return within milliseconds: the whole control plane waits for them.
 * The log tells which of them still runs after 1 s and after 10 s. */
typedef struct atoll_plugin_v1_t {
  /* ATOLL_PLUGIN_MAGIC */
  uint64_t magic;
  /* sizeof(atoll_plugin_v1_t) when the plugin was built. */
  uint32_t struct_size;
  uint32_t abi_major;
  uint32_t abi_minor;
  /* ATOLL_PLUGIN_RESIDENT and the others, joined by |. */
  uint32_t flags;
  /* ATOLL_BUILD_TAG */
  const char* build_tag;
  /* "role/name", as in the manifest's `use`. Each part has 1 to 64 letters, digits, '_', '.' and
   * '-'. */
  const char* name;
  const char* version;
  /* The SPDX identifier of the plugin's license: "Apache-2.0". */
  const char* license;
  /* One sentence that says what the plugin does. */
  const char* help;
  /* The three tables; a table without rows may be NULL. Their lengths follow. */
  const atoll_provided_v1* provides;
  const atoll_need_v1* needs;
  const atoll_option_v1* options;
  uint32_t provides_count;
  uint32_t needs_count;
  uint32_t options_count;
  uint32_t reserved;

  /* Makes one instance. On success *self is set; on failure nothing is left behind. The instance
   * may use host until destroy returns, but no other service before start. */
  atoll_status* (*create)(atoll_host* host, void** self);
  /* The providers of all required needs are active now. Threads, sockets and calls to other
   * services begin here. When start has succeeded, the kernel publishes the instance's services. */
  atoll_status* (*start)(void* self);
  /* No new work comes: the instance's services are withdrawn and its gate is closed. The function
   * begins to finish what the instance holds, and returns at once. The kernel stops the instance
   * when its gate is empty, nobody holds its services, and none of its tasks is left. What takes
   * longer than the deadline (nanoseconds on the steady clock) is logged with the names of those
   * who hold the instance. In a server that goes on, the instance is then stopped when the last of
   * them lets go; a server that ends does not wait any longer, and its process ends without stop. */
  void (*drain)(void* self, int64_t deadline_ns);
  /* Undoes start: joins threads, closes sockets, lets go of other services. Not called when start
   * has failed: a start that fails has undone everything itself. */
  void (*stop)(void* self);
  /* Frees the instance. The file may be unmapped right after the last instance was destroyed. */
  void (*destroy)(void* self);
  /* The implementation of a provided interface: a pointer to the interface's abstract class, or
   * NULL. The kernel asks once for each row of provides, right after create. The pointer stays
   * valid until destroy. */
  void* (*query)(void* self, const char* id);
  /* Writes into text (capacity bytes, with the NUL at the end) what the instance still holds, for
   * people: "2 requests of resnet50". Returns the length without the NUL. The kernel asks when a
   * drain takes long. */
  uint32_t (*holding)(void* self, char* text, uint32_t capacity);

  /* Since minor 1. Reports everything in the options that create or start would refuse and that
   * the option table cannot say. It is called without an instance, before there is one, and any
   * number of times. It may read files, and changes nothing. NULL: the table says everything. */
  void (*check)(atoll_option_check* check);
} atoll_plugin_v1_t;

#ifdef __cplusplus
}
#endif
#endif /* ATOLL_ABI_PLUGIN_H_ */
