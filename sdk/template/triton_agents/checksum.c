/* A repository agent in C: a model is loaded only if its files have the checksums that its configuration says.

     model_repository_agents {
       agents { name: "checksum" parameters { key: "FNV1A64:1/model.onnx" value: "af63dc4c8601ec8c" } } }

   A parameter names the algorithm and a file of the model's folder, and has the sum in hexadecimal digits. FNV-1a tells
   damage from what was meant; against somebody who means harm it takes a cryptographic one. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "triton/core/tritonrepoagent.h"

#define PATH_BYTES 4096
static const char kAlgorithm[] = "FNV1A64:";

static struct TRITONSERVER_Error* refuse(const char* what, const char* subject) {
  char text[PATH_BYTES + 128];
  snprintf(text, sizeof text, "%s '%s'", what, subject);
  return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INVALID_ARG, text);
}

static int sum_of(const char* path, uint64_t* sum) {
  unsigned char block[65536];
  FILE* file = fopen(path, "rb");
  size_t got;
  if (file == NULL) return 0;
  *sum = 0xcbf29ce484222325u;
  while ((got = fread(block, 1, sizeof block, file)) != 0) {
    for (size_t i = 0; i < got; ++i) *sum = (*sum ^ block[i]) * 0x100000001b3u;
  }
  got = ferror(file) == 0;
  fclose(file);
  return got != 0;
}

static struct TRITONSERVER_Error* check(const char* folder, const char* parameter, const char* expected) {
  char path[PATH_BYTES], found[17];
  uint64_t sum;
  const char* const file = parameter + sizeof kAlgorithm - 1;
  if (strncmp(parameter, kAlgorithm, sizeof kAlgorithm - 1) != 0)
    return refuse("expected FNV1A64:<file>, got", parameter);
  if (file[0] == '/' || strstr(file, "..") != NULL) return refuse("is outside of the model's folder:", file);
  if (snprintf(path, sizeof path, "%s/%s", folder, file) >= (int)sizeof path)
    return refuse("is too long:", file);
  if (!sum_of(path, &sum)) return refuse("unable to read", file);
  snprintf(found, sizeof found, "%016llx", (unsigned long long)sum);
  return strcmp(found, expected) == 0 ? NULL : refuse("the checksum does not match that of", file);
}

TRITONREPOAGENT_ISPEC struct TRITONSERVER_Error* TRITONREPOAGENT_ModelAction(
    TRITONREPOAGENT_Agent* agent, TRITONREPOAGENT_AgentModel* model,
    const TRITONREPOAGENT_ActionType action_type) {
  struct TRITONSERVER_Error* error;
  TRITONREPOAGENT_ArtifactType type;
  const char* folder;
  uint32_t count;
  if (action_type != TRITONREPOAGENT_ACTION_LOAD) return NULL;
  error = TRITONREPOAGENT_ModelRepositoryLocation(agent, model, &type, &folder);
  if (error != NULL) return error;
  error = TRITONREPOAGENT_ModelParameterCount(agent, model, &count);
  for (uint32_t i = 0; error == NULL && i < count; ++i) {
    const char *name, *value;
    error = TRITONREPOAGENT_ModelParameter(agent, model, i, &name, &value);
    if (error == NULL) error = check(folder, name, value);
  }
  return error;
}
