# How every library here is compiled and linked.
#
# They are loaded into other people's processes, which may hold another version
# of the C++ runtime or none. So they use the language and the headers, but
# nothing that lives in libstdc++ or libgcc_s: no exceptions, no type
# information, no guarded static initialisers. Linking with the C driver turns
# every accidental use into an undefined symbol, which is an error.

include(CheckCXXSymbolExists)

set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_C_FLAGS_RELEASE "-O2")
set(CMAKE_CXX_FLAGS_RELEASE "-O2")
# CMake would add these by itself because there are C++ sources in the target.
set(CMAKE_CXX_IMPLICIT_LINK_LIBRARIES "")

# The variant is the name of the folder that a library is installed in:
# <C library>-<machine>. Whoever loads one picks it from the target's maps.
check_cxx_symbol_exists(__GLIBC__ features.h JVMTI_HAVE_GLIBC)
if(JVMTI_HAVE_GLIBC)
  set(jvmti_libc glibc)
else()
  set(jvmti_libc musl)
endif()
set(JVMTI_VARIANT "${jvmti_libc}-${CMAKE_SYSTEM_PROCESSOR}" CACHE STRING
  "Folder that the libraries are installed in")

# The version has one place, the package's description.
set(description "${CMAKE_CURRENT_SOURCE_DIR}/../pyproject.toml")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${description}")
file(STRINGS "${description}" jvmti_version REGEX "^version = \"" LIMIT_COUNT 1)
string(REGEX REPLACE "^version = \"(.*)\"$" "\\1" jvmti_version "${jvmti_version}")

function(jvmti_compile_options target)
  target_compile_options(${target} PRIVATE
    -fno-exceptions -fno-rtti -fno-threadsafe-statics
    -fvisibility=hidden -fvisibility-inlines-hidden
    -Wall -Wextra -Wpedantic -Werror)
  if(jvmti_libc STREQUAL musl)
    # musl's CMSG_NXTHDR compares signed with unsigned; builds for glibc keep watch.
    target_compile_options(${target} PRIVATE -Wno-sign-compare)
  endif()
  if(JVMTI_SANITIZE)
    target_compile_options(${target} PRIVATE
      "-fsanitize=${JVMTI_SANITIZE}" -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
    if(JVMTI_SANITIZE STREQUAL thread)
      # It does not know fences; what is shared beside those of the agent is atomic.
      target_compile_options(${target} PRIVATE -Wno-tsan)
    elseif(JVMTI_SANITIZE MATCHES undefined)
      # Enumerations are C's here: any number goes through to the VM, which answers that it is none.
      target_compile_options(${target} PRIVATE -fno-sanitize=enum)
    endif()
  endif()
  target_compile_definitions(${target} PRIVATE
    "JVMTI_PACKAGE_VERSION=\"${jvmti_version}\"")
endfunction()

# jvmti_compile_together(TARGET SOURCE...): those of a folder as one.
function(jvmti_compile_together target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  foreach(source IN LISTS ARGN)
    get_filename_component(folder "${source}" DIRECTORY)
    # The same names wherever the sources are.
    file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}" "${folder}")
    # Files of these have names of their own in common.
    if(NOT folder MATCHES "/(generated|samplings|interception)$")
      string(MAKE_C_IDENTIFIER "${folder}" group)
      set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${group}")
    endif()
  endforeach()
endfunction()

# jvmti_link_options(TARGET EXPORTS): EXPORTS is a linker version script.
#
# "nodelete" because some VMs unload an agent whose start failed, with callbacks and
# threads of it perhaps still about.
function(jvmti_link_options target exports)
  set_target_properties(${target} PROPERTIES
    LINKER_LANGUAGE C
    LINK_DEPENDS "${exports}")
  target_link_options(${target} PRIVATE
    -static-libgcc
    "LINKER:--no-undefined"
    "LINKER:--as-needed"
    "LINKER:--version-script=${exports}"
    "LINKER:-z,relro,-z,now,-z,noexecstack,-z,nodelete"
    "LINKER:--build-id=sha1")
  if(JVMTI_SANITIZE)
    target_link_options(${target} PRIVATE "-fsanitize=${JVMTI_SANITIZE}")
  endif()
endfunction()
