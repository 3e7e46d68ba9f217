// Files that are not quite plugins: hand-made descriptors with one defect each, chosen by a compile
// definition.
#include "atoll/abi/plugin.h"

#ifdef MISFIT_ABORTS
#include <cstdlib>
// As a second copy of a .proto's registered descriptors does.
__attribute__((constructor)) static void end_the_process() { std::abort(); }
#endif

#ifdef MISFIT_UNDEFINED
extern "C" int atoll_fixture_symbol_that_nobody_has();
#endif

namespace {

atoll_status* create(atoll_host*, void** self) {
  static int instance;
  *self = &instance;
  return nullptr;
}
atoll_status* start(void*) {
#ifdef MISFIT_UNDEFINED
  atoll_fixture_symbol_that_nobody_has();
#endif
  return nullptr;
}
void drain(void*, int64_t) {}
void stop(void*) {}
void destroy(void*) {}
void* query(void*, const char*) { return nullptr; }
uint32_t holding(void*, char*, uint32_t) { return 0; }

#ifdef MISFIT_HOLLOW
const atoll_provided_v1 kProvides[] = {{"atoll.hollow/1", 0, 0, 0}};
#endif

#ifdef MISFIT_OPTIONS
const atoll_option_v1 kOptions[] = {
    {"a", ATOLL_OPTION_BOOL, 0, nullptr, nullptr, nullptr, nullptr, nullptr},
    {"b", ATOLL_OPTION_INT, 0, "x", nullptr, nullptr, nullptr, "a number"},
};
#endif

}  // namespace

#ifndef MISFIT_MAGIC
#define MISFIT_MAGIC ATOLL_PLUGIN_MAGIC
#endif
#ifndef MISFIT_MAJOR
#define MISFIT_MAJOR ATOLL_ABI_MAJOR
#endif
#ifndef MISFIT_TAG
#define MISFIT_TAG ATOLL_BUILD_TAG
#endif
#ifndef MISFIT_SYMBOL
#define MISFIT_SYMBOL atoll_plugin_v1
#endif

#ifdef MISFIT_UNIQUE
// A static of an inline function has a unique symbol: the dynamic linker never unmaps the file that defines
// it.
__attribute__((visibility("default"))) inline int& unique_state() {
  static int state = 0;
  return state;
}
__attribute__((visibility("default"))) int* unique_state_address = &unique_state();
#endif

#ifdef MISFIT_THREAD_LOCAL
struct WithDestructor {
  int value = 0;
  ~WithDestructor() { value = 1; }
};
int next_value() {
  thread_local WithDestructor state;
  return ++state.value;
}
int first_value = next_value();
#endif

extern "C" __attribute__((visibility("default")))
const atoll_plugin_v1_t MISFIT_SYMBOL = {.magic = MISFIT_MAGIC,
                                         .struct_size = sizeof(atoll_plugin_v1_t),
                                         .abi_major = MISFIT_MAJOR,
                                         .abi_minor = ATOLL_ABI_MINOR,
                                         .flags = 0,
                                         .build_tag = MISFIT_TAG,
                                         .name = MISFIT_NAME,
                                         .version = "1.0.0",
                                         .license = "Apache-2.0",
                                         .help = "A misfit of the lifecycle tests.",
#ifdef MISFIT_HOLLOW
                                         .provides = kProvides,
#else
                                         .provides = nullptr,
#endif
                                         .needs = nullptr,
#ifdef MISFIT_OPTIONS
                                         .options = kOptions,
#else
                                         .options = nullptr,
#endif
#ifdef MISFIT_HOLLOW
                                         .provides_count = 1,
#else
                                         .provides_count = 0,
#endif
                                         .needs_count = 0,
#ifdef MISFIT_OPTIONS
                                         .options_count = 2,
#else
                                         .options_count = 0,
#endif
                                         .reserved = 0,
                                         .create = &create,
                                         .start = &start,
                                         .drain = &drain,
                                         .stop = &stop,
                                         .destroy = &destroy,
                                         .query = &query,
                                         .holding = &holding,
                                         .check = nullptr};
