// Loaded before OpenVINO's CPU plugin where ONEDNN_MAX_CPU_ISA is set (lesser_processor.py): the plugin takes this processor
// for one that has no more than that.
//
// The variable limits oneDNN, and so all that the plugin asks oneDNN for. Which precisions the processor has, and which is the
// default, the plugin asks OpenVINO's functions with_cpu_x86_*. They read the processor itself; these stand in their place.
#include <cstdlib>
#include <string>

namespace {

enum class Level { kSse41, kAvx2, kAvx512Core };

Level Limit() {
  const char* variable = std::getenv("ONEDNN_MAX_CPU_ISA");
  const std::string limit = variable == nullptr ? "" : variable;
  if (limit == "SSE41") {
    return Level::kSse41;
  }
  if (limit == "AVX2") {
    return Level::kAvx2;
  }
  if (limit == "AVX512_CORE") {
    return Level::kAvx512Core;
  }
  std::abort();  // Nobody said which processor to be.
}

bool HasAvx2() { return Limit() >= Level::kAvx2 && __builtin_cpu_supports("avx2"); }

bool HasAvx512() {
  return Limit() >= Level::kAvx512Core && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}

}  // namespace

namespace ov {

bool with_cpu_x86_avx() { return HasAvx2(); }
bool with_cpu_x86_avx2() { return HasAvx2(); }
bool with_cpu_x86_avx512f() { return HasAvx512(); }
bool with_cpu_x86_avx512_core() { return HasAvx512(); }

// What came after AVX-512.
bool with_cpu_x86_avx2_vnni() { return false; }
bool with_cpu_x86_avx2_vnni_2() { return false; }
bool with_cpu_x86_avx512_core_vnni() { return false; }
bool with_cpu_x86_bfloat16() { return false; }
bool with_cpu_x86_avx512_core_fp16() { return false; }
bool with_cpu_x86_avx512_core_amx() { return false; }
bool with_cpu_x86_avx512_core_amx_int8() { return false; }
bool with_cpu_x86_avx512_core_amx_bf16() { return false; }
bool with_cpu_x86_avx512_core_amx_fp16() { return false; }

}  // namespace ov
