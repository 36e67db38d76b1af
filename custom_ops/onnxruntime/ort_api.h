/* The part of ONNX Runtime's C API that the library, its test program and the examples use; C and C++.
 *
 * ONNX Runtime's wheels carry no headers, and none are needed: the C API is one table of function pointers, which only
 * ever grows at its end (OrtApiBase::GetApi hands out the table for a version, and refuses a version that is newer than
 * itself), and a custom operator is a structure with a version of its own. So the names, positions and parameters below
 * hold for every ONNX Runtime from 1.17 on. They were read off the public header onnxruntime_c_api.h (API versions 17
 * to 30); entries that are not used are gaps. A program that includes the public header does not want this one.
 */
#ifndef ONNX_PHILOX_ORT_API_H_
#define ONNX_PHILOX_ORT_API_H_

#include <stddef.h>
#include <stdint.h>

/* The API version that has everything below; ONNX Runtime 1.17 and newer have it. */
#define ONNX_PHILOX_ORT_API_VERSION 17
/* That of ONNX Runtime 1.19, the oldest that the library serves: older ones do not take the type of RandomCategorical's
 * values from its shape inference. */
#define ONNX_PHILOX_ORT_LOWEST_API_VERSION 19

#ifdef _WIN32
#define ORT_CALL __stdcall
typedef wchar_t OrtPathChar;
#else
#define ORT_CALL
typedef char OrtPathChar;
#endif

#ifdef __cplusplus
extern "C" {
#define ORT_STATIC_ASSERT static_assert
#else
#define ORT_STATIC_ASSERT _Static_assert
#endif

typedef struct OrtStatus OrtStatus; /* null: no error */
typedef struct OrtEnv OrtEnv;
typedef struct OrtSession OrtSession;
typedef struct OrtSessionOptions OrtSessionOptions;
typedef struct OrtRunOptions OrtRunOptions;
typedef struct OrtValue OrtValue;
typedef struct OrtAllocator OrtAllocator;
typedef struct OrtTypeInfo OrtTypeInfo;
typedef struct OrtTensorTypeAndShapeInfo OrtTensorTypeAndShapeInfo;
typedef struct OrtCustomOpDomain OrtCustomOpDomain;
typedef struct OrtKernelInfo OrtKernelInfo;
typedef struct OrtKernelContext OrtKernelContext;
typedef struct OrtShapeInferContext OrtShapeInferContext;
typedef struct OrtOpAttr OrtOpAttr;
typedef struct OrtLogger OrtLogger;
typedef struct OrtApi OrtApi;
typedef struct OrtCustomOp OrtCustomOp;

/* Enumerations of the API, as the int they are passed as. */
typedef int OrtErrorCode;
enum { ORT_FAIL = 1, ORT_INVALID_ARGUMENT = 2 };

typedef int OrtElementType; /* the numbers of ONNX's TensorProto.DataType */
enum {
  ORT_TYPE_UNDEFINED = 0,
  ORT_TYPE_FLOAT = 1,
  ORT_TYPE_UINT8 = 2,
  ORT_TYPE_INT8 = 3,
  ORT_TYPE_UINT16 = 4,
  ORT_TYPE_INT16 = 5,
  ORT_TYPE_INT32 = 6,
  ORT_TYPE_INT64 = 7,
  ORT_TYPE_STRING = 8,
  ORT_TYPE_BOOL = 9,
  ORT_TYPE_FLOAT16 = 10,
  ORT_TYPE_DOUBLE = 11,
  ORT_TYPE_UINT32 = 12,
  ORT_TYPE_UINT64 = 13,
  ORT_TYPE_BFLOAT16 = 16
};

typedef int OrtCharacteristic;
enum { ORT_REQUIRED = 0, ORT_OPTIONAL = 1 };

typedef int OrtMemType;
enum { ORT_MEM_DEFAULT = 0, ORT_MEM_CPU_INPUT = -2 };

typedef int OrtOpAttrKind;
enum { ORT_ATTR_INT = 1, ORT_ATTR_STRING = 5 };

enum { ORT_LOG_WARNING = 2 };

typedef struct OrtApiBase {
  const OrtApi*(ORT_CALL *GetApi)(uint32_t version); /* null: this ONNX Runtime is older */
  const char*(ORT_CALL *GetVersionString)(void);
} OrtApiBase;

/* The table; the positions of entries that come after a gap are stated, and checked, below it. */
struct OrtApi {
  OrtStatus*(ORT_CALL *CreateStatus)(OrtErrorCode code, const char* message);
  OrtErrorCode (ORT_CALL *GetErrorCode)(const OrtStatus* status);
  const char*(ORT_CALL *GetErrorMessage)(const OrtStatus* status);
  OrtStatus*(ORT_CALL *CreateEnv)(int logging_level, const char* name, OrtEnv** env);
  void (*unused_4[3])(void);
  OrtStatus*(ORT_CALL *CreateSession)(const OrtEnv* env, const OrtPathChar* path, const OrtSessionOptions* options,
                                      OrtSession** session);
  void (*unused_8[1])(void);
  OrtStatus*(ORT_CALL *Run)(OrtSession* session, const OrtRunOptions* options, const char* const* input_names,
                            const OrtValue* const* inputs, size_t input_count, const char* const* output_names,
                            size_t output_count, OrtValue** outputs);
  OrtStatus*(ORT_CALL *CreateSessionOptions)(OrtSessionOptions** options);
  void (*unused_11[15])(void);
  OrtStatus*(ORT_CALL *CreateCustomOpDomain)(const char* name, OrtCustomOpDomain** domain);
  OrtStatus*(ORT_CALL *CustomOpDomain_Add)(OrtCustomOpDomain* domain, const OrtCustomOp* op);
  OrtStatus*(ORT_CALL *AddCustomOpDomain)(OrtSessionOptions* options, OrtCustomOpDomain* domain);
  void (*unused_29[19])(void);
  OrtStatus*(ORT_CALL *CreateTensorAsOrtValue)(OrtAllocator* allocator, const int64_t* dimensions, size_t rank,
                                               OrtElementType type, OrtValue** value);
  void (*unused_49[2])(void);
  OrtStatus*(ORT_CALL *GetTensorMutableData)(OrtValue* value, void** data);
  void (*unused_52[3])(void);
  OrtStatus*(ORT_CALL *CastTypeInfoToTensorInfo)(const OrtTypeInfo* type, const OrtTensorTypeAndShapeInfo** tensor);
  void (*unused_56[1])(void);
  OrtStatus*(ORT_CALL *CreateTensorTypeAndShapeInfo)(OrtTensorTypeAndShapeInfo** info);
  OrtStatus*(ORT_CALL *SetTensorElementType)(OrtTensorTypeAndShapeInfo* info, OrtElementType type);
  OrtStatus*(ORT_CALL *SetDimensions)(OrtTensorTypeAndShapeInfo* info, const int64_t* dimensions, size_t rank);
  OrtStatus*(ORT_CALL *GetTensorElementType)(const OrtTensorTypeAndShapeInfo* info, OrtElementType* type);
  OrtStatus*(ORT_CALL *GetDimensionsCount)(const OrtTensorTypeAndShapeInfo* info, size_t* rank);
  OrtStatus*(ORT_CALL *GetDimensions)(const OrtTensorTypeAndShapeInfo* info, int64_t* dimensions, size_t rank);
  OrtStatus*(ORT_CALL *GetSymbolicDimensions)(const OrtTensorTypeAndShapeInfo* info, const char** names, size_t rank);
  OrtStatus*(ORT_CALL *GetTensorShapeElementCount)(const OrtTensorTypeAndShapeInfo* info, size_t* elements);
  OrtStatus*(ORT_CALL *GetTensorTypeAndShape)(const OrtValue* value, OrtTensorTypeAndShapeInfo** info);
  void (*unused_66[12])(void);
  OrtStatus*(ORT_CALL *GetAllocatorWithDefaultOptions)(OrtAllocator** allocator); /* ONNX Runtime's own */
  void (*unused_79[6])(void);
  OrtStatus*(ORT_CALL *KernelInfoGetAttribute_float)(const OrtKernelInfo* info, const char* name, float* value);
  OrtStatus*(ORT_CALL *KernelInfoGetAttribute_int64)(const OrtKernelInfo* info, const char* name, int64_t* value);
  OrtStatus*(ORT_CALL *KernelInfoGetAttribute_string)(const OrtKernelInfo* info, const char* name, char* text,
                                                      size_t* bytes);
  void (*unused_88[2])(void);
  OrtStatus*(ORT_CALL *KernelContext_GetInput)(const OrtKernelContext* context, size_t index, const OrtValue** value);
  OrtStatus*(ORT_CALL *KernelContext_GetOutput)(OrtKernelContext* context, size_t index, const int64_t* dimensions,
                                                size_t rank, OrtValue** value);
  void (ORT_CALL *ReleaseEnv)(OrtEnv* env);
  void (ORT_CALL *ReleaseStatus)(OrtStatus* status);
  void (*unused_94[1])(void);
  void (ORT_CALL *ReleaseSession)(OrtSession* session);
  void (ORT_CALL *ReleaseValue)(OrtValue* value);
  void (*unused_97[1])(void);
  void (ORT_CALL *ReleaseTypeInfo)(OrtTypeInfo* type);
  void (ORT_CALL *ReleaseTensorTypeAndShapeInfo)(OrtTensorTypeAndShapeInfo* info);
  void (ORT_CALL *ReleaseSessionOptions)(OrtSessionOptions* options);
  void (ORT_CALL *ReleaseCustomOpDomain)(OrtCustomOpDomain* domain);
  void (*unused_102[60])(void);
  OrtStatus*(ORT_CALL *KernelInfoGetAttributeArray_float)(const OrtKernelInfo* info, const char* name, float* values,
                                                          size_t* count);
  OrtStatus*(ORT_CALL *KernelInfoGetAttributeArray_int64)(const OrtKernelInfo* info, const char* name, int64_t* values,
                                                          size_t* count);
  void (*unused_164[29])(void);
  OrtStatus*(ORT_CALL *KernelContext_GetGPUComputeStream)(const OrtKernelContext* context, void** stream);
  void (*unused_194[34])(void);
  OrtStatus*(ORT_CALL *RegisterCustomOpsLibrary_V2)(OrtSessionOptions* options, const OrtPathChar* path);
  void (*unused_229[1])(void);
  OrtStatus*(ORT_CALL *KernelInfo_GetInputCount)(const OrtKernelInfo* info, size_t* count);
  OrtStatus*(ORT_CALL *KernelInfo_GetOutputCount)(const OrtKernelInfo* info, size_t* count);
  OrtStatus*(ORT_CALL *KernelInfo_GetInputName)(const OrtKernelInfo* info, size_t index, char* name, size_t* bytes);
  OrtStatus*(ORT_CALL *KernelInfo_GetOutputName)(const OrtKernelInfo* info, size_t index, char* name, size_t* bytes);
  OrtStatus*(ORT_CALL *KernelInfo_GetInputTypeInfo)(const OrtKernelInfo* info, size_t index, OrtTypeInfo** type);
  OrtStatus*(ORT_CALL *KernelInfo_GetOutputTypeInfo)(const OrtKernelInfo* info, size_t index, OrtTypeInfo** type);
  void (*unused_236[1])(void);
  OrtStatus*(ORT_CALL *HasSessionConfigEntry)(const OrtSessionOptions* options, const char* key, int* has);
  OrtStatus*(ORT_CALL *GetSessionConfigEntry)(const OrtSessionOptions* options, const char* key, char* value,
                                              size_t* bytes);
  void (*unused_239[6])(void);
  OrtStatus*(ORT_CALL *KernelInfo_GetLogger)(const OrtKernelInfo* info, const OrtLogger** logger);
  void (*unused_246[1])(void);
  OrtStatus*(ORT_CALL *Logger_LogMessage)(const OrtLogger* logger, int level, const char* text, const OrtPathChar* file,
                                          int line, const char* function);
  OrtStatus*(ORT_CALL *Logger_GetLoggingSeverityLevel)(const OrtLogger* logger, int* least);
  OrtStatus*(ORT_CALL *KernelInfoGetConstantInput_tensor)(const OrtKernelInfo* info, size_t index, int* is_constant,
                                                          const OrtValue** value);
  void (*unused_250[18])(void);
  OrtStatus*(ORT_CALL *ShapeInferContext_GetInputTypeShape)(const OrtShapeInferContext* context, size_t index,
                                                            OrtTensorTypeAndShapeInfo** info); /* the context's own */
  OrtStatus*(ORT_CALL *ShapeInferContext_GetAttribute)(const OrtShapeInferContext* context, const char* name,
                                                       const OrtOpAttr** attribute);
  OrtStatus*(ORT_CALL *ShapeInferContext_SetOutputTypeShape)(const OrtShapeInferContext* context, size_t index,
                                                             const OrtTensorTypeAndShapeInfo* info);
  OrtStatus*(ORT_CALL *SetSymbolicDimensions)(OrtTensorTypeAndShapeInfo* info, const char** names, size_t rank);
  OrtStatus*(ORT_CALL *ReadOpAttr)(const OrtOpAttr* attribute, OrtOpAttrKind kind, void* data, size_t room,
                                   size_t* bytes);
  void (*unused_273[1])(void);
  OrtStatus*(ORT_CALL *KernelContext_ParallelFor)(const OrtKernelContext* context, void (*function)(void* data,
                                                  size_t index), size_t total, size_t batches, void* data);
};

#define ORT_POSITION(entry, position) \
  ORT_STATIC_ASSERT(offsetof(OrtApi, entry) == (position) * sizeof(void*), "the position of " #entry)
ORT_POSITION(CreateStatus, 0);
ORT_POSITION(CreateSession, 7);
ORT_POSITION(Run, 9);
ORT_POSITION(CreateCustomOpDomain, 26);
ORT_POSITION(CreateTensorAsOrtValue, 48);
ORT_POSITION(GetTensorMutableData, 51);
ORT_POSITION(CastTypeInfoToTensorInfo, 55);
ORT_POSITION(CreateTensorTypeAndShapeInfo, 57);
ORT_POSITION(GetAllocatorWithDefaultOptions, 78);
ORT_POSITION(KernelInfoGetAttribute_float, 85);
ORT_POSITION(KernelContext_GetInput, 90);
ORT_POSITION(ReleaseSession, 95);
ORT_POSITION(ReleaseTypeInfo, 98);
ORT_POSITION(KernelInfoGetAttributeArray_float, 162);
ORT_POSITION(KernelContext_GetGPUComputeStream, 193);
ORT_POSITION(RegisterCustomOpsLibrary_V2, 228);
ORT_POSITION(KernelInfo_GetInputCount, 230);
ORT_POSITION(HasSessionConfigEntry, 237);
ORT_POSITION(KernelInfo_GetLogger, 245);
ORT_POSITION(Logger_LogMessage, 247);
ORT_POSITION(ShapeInferContext_GetInputTypeShape, 268);
ORT_POSITION(KernelContext_ParallelFor, 274);
#undef ORT_POSITION

/* A custom operator: ONNX Runtime asks it what it takes and gives, and makes and runs its kernels through it. `version`
 * says up to where the structure is filled in; ONNX Runtime 1.18 added members after those of version 17. */
struct OrtCustomOp {
  uint32_t version;
  void*(ORT_CALL *CreateKernel)(const OrtCustomOp*, const OrtApi*, const OrtKernelInfo*); /* unused, see V2 */
  const char*(ORT_CALL *GetName)(const OrtCustomOp*);
  const char*(ORT_CALL *GetExecutionProviderType)(const OrtCustomOp*); /* null: the CPU's */
  OrtElementType (ORT_CALL *GetInputType)(const OrtCustomOp*, size_t index); /* ORT_TYPE_UNDEFINED: any */
  size_t (ORT_CALL *GetInputTypeCount)(const OrtCustomOp*);
  OrtElementType (ORT_CALL *GetOutputType)(const OrtCustomOp*, size_t index);
  size_t (ORT_CALL *GetOutputTypeCount)(const OrtCustomOp*);
  void (ORT_CALL *KernelCompute)(void* kernel, OrtKernelContext*); /* unused, see V2 */
  void (ORT_CALL *KernelDestroy)(void* kernel);
  OrtCharacteristic (ORT_CALL *GetInputCharacteristic)(const OrtCustomOp*, size_t index);
  OrtCharacteristic (ORT_CALL *GetOutputCharacteristic)(const OrtCustomOp*, size_t index);
  OrtMemType (ORT_CALL *GetInputMemoryType)(const OrtCustomOp*, size_t index);
  int (ORT_CALL *GetVariadicInputMinArity)(const OrtCustomOp*);
  int (ORT_CALL *GetVariadicInputHomogeneity)(const OrtCustomOp*);
  int (ORT_CALL *GetVariadicOutputMinArity)(const OrtCustomOp*);
  int (ORT_CALL *GetVariadicOutputHomogeneity)(const OrtCustomOp*);
  OrtStatus*(ORT_CALL *CreateKernelV2)(const OrtCustomOp*, const OrtApi*, const OrtKernelInfo*, void** kernel);
  OrtStatus*(ORT_CALL *KernelComputeV2)(void* kernel, OrtKernelContext*);
  OrtStatus*(ORT_CALL *InferOutputShapeFn)(const OrtCustomOp*, OrtShapeInferContext*); /* null: none */
  int (ORT_CALL *GetStartVersion)(const OrtCustomOp*);
  int (ORT_CALL *GetEndVersion)(const OrtCustomOp*);
};

#ifdef __cplusplus
}
#endif

#endif
