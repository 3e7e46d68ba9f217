#include "server/names.h"
#include "triton/core/tritonserver.h"

using atl::triton::name_of;

const char* TRITONSERVER_MemoryTypeString(TRITONSERVER_MemoryType memtype) {
  static constexpr const char* kNames[] = {"CPU", "CPU_PINNED", "GPU"};
  return name_of(kNames, memtype, "<invalid>");
}

const char* TRITONSERVER_ParameterTypeString(TRITONSERVER_ParameterType paramtype) {
  static constexpr const char* kNames[] = {"STRING", "INT", "BOOL", "DOUBLE", "BYTES"};
  return name_of(kNames, paramtype, "<invalid>");
}

const char* TRITONSERVER_InstanceGroupKindString(TRITONSERVER_InstanceGroupKind kind) {
  static constexpr const char* kNames[] = {"AUTO", "CPU", "GPU", "MODEL"};
  return name_of(kNames, kind, "<invalid>");
}
