/* The binary contract between the kernel and a plugin, in C.
 *
 * A plugin is a shared object that exports exactly one symbol, the constant `atoll_plugin_v1`. The kernel
 * maps the file, reads this data (name, needs, options, build tag) of every plugin in the manifest, decides
 * whether the whole graph fits together, and only then calls the first function. C++ authors do not fill this
 * in by hand: see ATOLL_PLUGIN in atoll/core/plugin.h. The major version is part of the symbol's name; minors
 * append at the end and are told apart by struct_size. */
#ifndef ATOLL_ABI_PLUGIN_H_
#define ATOLL_ABI_PLUGIN_H_

#include <stdint.h>
#ifdef __cplusplus
#include <cstddef> /* makes the standard library say what ATOLL_TAG_STL asks it */
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define ATOLL_PLUGIN_SYMBOL "atoll_plugin_v1"
#define ATOLL_PLUGIN_MAGIC 0x314C4F54415F4C50ull /* any other value: not a descriptor */
#define ATOLL_ABI_MAJOR 1u
#define ATOLL_ABI_MINOR 1u

/* The layout of the structs that cross the boundary (requests, tensors, traits, statistics and so on): grows
 * by one with every change of a member of any of them. The sizes of those that each request passes are
 * asserted beside them, so that a change of one is not overlooked. */
#define ATOLL_SDK_LAYOUT 5

/* Interfaces cross the boundary as C++ vtables, so both sides must agree on everything that shapes them: the
 * compiler's C++ ABI, the standard library's string ABI and debug mode, the sanitizer's runtime, and the
 * layout of structs. */
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

/* Flags of a plugin. */
/* Stopped and destroyed, never unmapped (it links a library that cannot be). */
#define ATOLL_PLUGIN_RESIDENT 1u
#define ATOLL_PLUGIN_SINGLETON 2u /* at most one enabled instance a server */
/* Never created in a trial. Before a reload runs a file's code for the first time, a process of its own makes
   the instance, starts and stops it, so that code that ends its process harms nothing. Set this where a
   second instance beside the one that serves would do harm that ATOLL_OPTION_LISTENS and ATOLL_OPTION_STATE
   do not keep off: it takes a device, loads the models again, or starts or ends other servers. */
#define ATOLL_PLUGIN_UNTRIED 4u

/* Flags of a provided interface. */
/* A server takes one enabled instance that provides it: two would work against each other. */
#define ATOLL_PROVIDED_ALONE 1u

/* One interface that a plugin provides: "atoll.backend/1". The number after the slash is the major. */
typedef struct atoll_provided_v1 {
  const char* id;
  uint32_t minor; /* highest minor implemented */
  int32_t rank;   /* among providers of one interface the highest rank is bound when nobody names one */
  uint32_t flags;
} atoll_provided_v1;

/* Flags of a need. */
#define ATOLL_NEED_OPTIONAL 1u /* bring-up goes on without a provider */
/* Any number of providers that come and go while the plugin runs; implies OPTIONAL. A changed provider does
   not rebuild the holder: it watches ServiceChanged. */
#define ATOLL_NEED_MANY 2u

typedef struct atoll_need_v1 {
  const char* id;
  uint32_t minor; /* lowest minor that will do */
  uint32_t flags;
} atoll_need_v1;

/* Types of an option's value in the manifest. */
enum atoll_option_type {
  ATOLL_OPTION_BOOL = 0,
  ATOLL_OPTION_INT = 1,   /* 64-bit signed */
  ATOLL_OPTION_FLOAT = 2, /* double */
  ATOLL_OPTION_STRING = 3,
  ATOLL_OPTION_DURATION = 4,    /* "250ms", "30s", "5m", "1h", "10us"; read as nanoseconds */
  ATOLL_OPTION_BYTES = 5,       /* "64MiB", "4KiB", "1GiB" or a plain number of bytes */
  ATOLL_OPTION_STRING_LIST = 6, /* ["a", "b"] */
  ATOLL_OPTION_STRING_MAP = 7   /* { key = "value" } */
};

/* Flags of an option. */
#define ATOLL_OPTION_REQUIRED 1u
/* 2u: see atoll/core/moved_option.h */
/* STRING: the instance listens at this TCP address, "host:port"; port 0: the system chooses one. No two
   enabled instances of a manifest may listen at the same, and in a trial the port is 0. BOOL: where false, it listens at none. */
#define ATOLL_OPTION_LISTENS 4u
/* BOOL only: where true, the instance shares the ports of its addresses with others that say so too. */
#define ATOLL_OPTION_SHARES_PORTS 8u
/* STRING only: the path of a file or folder in which the instance keeps or writes something. In a trial it
   leads to a place of the trial's own, where nothing is yet; an empty text stays empty. */
#define ATOLL_OPTION_STATE 16u

/* One row of a plugin's option table. Keys that are not in the table are errors in a manifest. Default,
 * minimum and maximum are written as they would be in the manifest ("30s", "0", "true", "[]"); NULL: none. */
typedef struct atoll_option_v1 {
  const char* key;
  uint32_t type; /* enum atoll_option_type */
  uint32_t flags;
  const char* default_value; /* NULL and not REQUIRED: empty, 0 or false */
  const char* minimum;
  const char* maximum;
  const char* choices; /* STRING only, all in one text: "text|json"; NULL: any */
  const char* help;    /* one sentence, with the unit */
} atoll_option_v1;

/* The kernel's face towards one plugin instance: really an atl::Host (atoll/core/host.h). */
typedef struct atoll_host atoll_host;
/* NULL is success; otherwise an atl::Status given away with Status::release() and owned by the receiver. */
typedef struct atoll_status atoll_status;
/* The options of an instance that is not made yet: really an atl::OptionCheck (atoll/core/option_check.h). */
typedef struct atoll_option_check atoll_option_check;

/* All functions are called on the kernel's one control thread, must not throw and must not block for long. */
typedef struct atoll_plugin_v1_t {
  uint64_t magic;       /* ATOLL_PLUGIN_MAGIC */
  uint32_t struct_size; /* sizeof(atoll_plugin_v1_t) when the plugin was built */
  uint32_t abi_major;
  uint32_t abi_minor;
  uint32_t flags;
  const char* build_tag; /* ATOLL_BUILD_TAG */
  const char* name;      /* "role/name", as in the manifest's `use` */
  const char* version;
  const char* license; /* SPDX identifier */
  const char* help;    /* one sentence */
  const atoll_provided_v1* provides;
  const atoll_need_v1* needs;
  const atoll_option_v1* options;
  uint32_t provides_count;
  uint32_t needs_count;
  uint32_t options_count;
  uint32_t reserved;

  /* Makes one instance. On success *self is set; on failure nothing is left behind. */
  atoll_status* (*create)(atoll_host* host, void** self);
  /* Every required need is active. Threads, sockets and calls to other services begin here. */
  atoll_status* (*start)(void* self);
  /* No new work comes; begin to finish what is held, and return. The kernel waits until the instance's gate
   * is empty, at most until the deadline (steady clock, ns). */
  void (*drain)(void* self, int64_t deadline_ns);
  /* Undoes start: joins threads, lets go of other services. Not called when start failed: a start that fails
   * has undone itself. */
  void (*stop)(void* self);
  void (*destroy)(void* self);
  /* The implementation of a provided interface, or NULL. Valid from create to destroy. */
  void* (*query)(void* self, const char* id);
  /* Writes into text (capacity bytes, NUL-terminated) what the instance still holds, for a drain that
   * overran: "2 requests of resnet50". Returns the length. */
  uint32_t (*holding)(void* self, char* text, uint32_t capacity);

  /* Since minor 1. Reports everything in the options that create or start would refuse and that the option table
   * cannot say. It is called without an instance, before there is one, and any number of times; it may read
   * files, and changes nothing. NULL: the table says everything. */
  void (*check)(atoll_option_check* check);
} atoll_plugin_v1_t;

#ifdef __cplusplus
}
#endif
#endif /* ATOLL_ABI_PLUGIN_H_ */
