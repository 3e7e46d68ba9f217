/* The headers read as C. */
#include "triton/core/tritonbackend.h"
#include "triton/core/tritoncache.h"
#include "triton/core/tritonrepoagent.h"

int c_header_check(void);

int c_header_check(void) {
  struct TRITONSERVER_Error* error = TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_CANCELLED, "from C");
  const bool good = TRITONSERVER_ErrorCode(error) == TRITONSERVER_ERROR_CANCELLED;
  TRITONSERVER_ErrorDelete(error);
  return good;
}

TRITONSERVER_Error* TRITONBACKEND_ModelBatchFinalize(void* userp) {
  (void)userp;
  return NULL;
}
#include "triton/core/tritoncache.h"
