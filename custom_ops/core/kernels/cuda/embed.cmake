# Puts kernels.ptx into a library, as ptx.h says.
set(ONNX_PHILOX_PTX ${CMAKE_CURRENT_LIST_DIR}/kernels.ptx)

function(onnx_philox_embed_ptx target)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${ONNX_PHILOX_PTX})
  set(source ${CMAKE_CURRENT_BINARY_DIR}/kernels_ptx.cpp)
  if(NOT EXISTS ${source} OR ${ONNX_PHILOX_PTX} IS_NEWER_THAN ${source})
    # As numbers: compilers limit the length of a literal.
    file(READ ${ONNX_PHILOX_PTX} bytes HEX)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
    string(REPLACE "0x0a," "0x0a,\n" bytes "${bytes}")
    file(WRITE ${source}
      "#include \"cuda/ptx.h\"\n"
      "namespace onnx_philox {\nnamespace cuda {\n"
      "const unsigned char kPtx[] = {\n${bytes}0};\n"
      "const std::size_t kPtxBytes = sizeof(kPtx) - 1;\n"
      "}\n}\n")
  endif()
  target_sources(${target} PRIVATE ${source})
endfunction()
