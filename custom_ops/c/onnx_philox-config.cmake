# find_package(onnx_philox): headers for C and C++, and where the libraries with the operators are.
#
#   onnx_philox::headers                  <onnx_philox/onnx_philox.h>, <onnx_philox/state.h>, <onnx_philox/ort_api.h>
#   onnx_philox_ONNXRUNTIME_LIBRARY       the file that RegisterCustomOpsLibrary_V2 takes
#   onnx_philox_OPENVINO_LIBRARY          the file that ov::Core::add_extension takes; empty where the wheel has none
#   onnx_philox::onnxruntime              the first of these to link, for the functions of <onnx_philox/onnx_philox.h>
#
# For a session nothing is linked: a runtime loads its library when the program runs. What links the imported target is
# shipped with that one file, beside the program for example, with an rpath of $ORIGIN.
get_filename_component(_onnx_philox "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET onnx_philox::headers)
  add_library(onnx_philox::headers INTERFACE IMPORTED)
  set_target_properties(onnx_philox::headers PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${_onnx_philox}/include")
endif()
foreach(_runtime IN ITEMS onnxruntime openvino)
  string(TOUPPER ${_runtime} _upper)
  set(onnx_philox_${_upper}_LIBRARY "")
  foreach(_suffix IN ITEMS so dylib dll)
    if(EXISTS "${_onnx_philox}/lib/libonnx_philox_${_runtime}.${_suffix}")
      set(onnx_philox_${_upper}_LIBRARY "${_onnx_philox}/lib/libonnx_philox_${_runtime}.${_suffix}")
    endif()
  endforeach()
endforeach()
if(onnx_philox_ONNXRUNTIME_LIBRARY AND NOT WIN32 AND NOT TARGET onnx_philox::onnxruntime)
  # No import library comes for Windows: LoadLibrary finds the functions there.
  add_library(onnx_philox::onnxruntime SHARED IMPORTED)
  set_target_properties(onnx_philox::onnxruntime PROPERTIES
    IMPORTED_LOCATION "${onnx_philox_ONNXRUNTIME_LIBRARY}"
    INTERFACE_LINK_LIBRARIES onnx_philox::headers)
endif()
unset(_onnx_philox)
unset(_runtime)
unset(_upper)
unset(_suffix)
