# Options of the sanitizers; to be sourced from the root of the project.
#
# LLVM's libraries are not instrumented: containers and pools that they fill look
# overflowed, and they keep what they allocate until the process ends.
export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_container_overflow=0:detect_leaks=0:allow_user_poisoning=0}"
# The first race ends the program, so that the case that has it fails.
export TSAN_OPTIONS="${TSAN_OPTIONS:-halt_on_error=1:second_deadlock_stack=1:suppressions=$PWD/test/property/tsan.supp}"
