# Puts kernels.ptx into a library, as ptx.h says; nothing where it was made of other sources than these.
set(ONNX_PHILOX_CUDA ${CMAKE_CURRENT_LIST_DIR})
find_package(Python COMPONENTS Interpreter)

function(onnx_philox_embed_ptx target)
  file(GLOB sources ${ONNX_PHILOX_CUDA}/../../core/kernels/*.h ${ONNX_PHILOX_CUDA}/*)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${sources})
  set(differs 1)
  set(why "no Python here to compare kernels.ptx with its sources")
  if(Python_EXECUTABLE)
    execute_process(COMMAND ${Python_EXECUTABLE} ${ONNX_PHILOX_CUDA}/make_ptx.py --check
      RESULT_VARIABLE differs ERROR_VARIABLE why)
  endif()
  if(differs EQUAL 0)
    set(ptx ${ONNX_PHILOX_CUDA}/kernels.ptx)
  else()
    message(WARNING "onnx-philox is built without kernels for NVIDIA's cards: ${why}")
    set(ptx ${CMAKE_CURRENT_BINARY_DIR}/no_kernels.ptx)
    file(WRITE ${ptx} "")
  endif()
  get_filename_component(name ${ptx} NAME)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  if(NOT EXISTS ${source} OR ${ptx} IS_NEWER_THAN ${source})
    # As numbers: compilers limit the length of a literal.
    file(READ ${ptx} bytes HEX)
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
