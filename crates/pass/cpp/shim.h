// What the Rust side of the pass needs of LLVM and the C API does not offer. Plain C types only;
// handles are the C API's. Each function is documented where it is defined.
#pragma once
#include "llvm-c/Types.h"
#include <cstddef>
#include <cstdint>

extern "C" {
// Defined in Rust.
void dh_keep_bitcode(LLVMModuleRef module);
void dh_write_bitcode(LLVMModuleRef module);
void dh_instrument(LLVMModuleRef module);
void dh_concolic(LLVMModuleRef module);

// registration.cc
void dh_register(void *pass_builder);
int dh_was_masked(LLVMValueRef load);
size_t dh_compress(const uint8_t *input, size_t length, uint8_t *output, size_t capacity);

// function_clone.cc
void *dh_clone(LLVMValueRef function, LLVMValueRef *clone);
LLVMValueRef dh_cloned_value(void *map, LLVMValueRef value);
void dh_clone_done(void *map);

// debug_location.cc
struct DhLocation {
  const char *file, *directory, *function;
  size_t file_length, directory_length, function_length;
  uint32_t line, column;
  LLVMMetadataRef inlined_at, scope;
};
int dh_debug_location(LLVMMetadataRef location, DhLocation *out);

// own_memory.cc
int dh_is_own(LLVMValueRef pointer);
int dh_is_constant_data(LLVMValueRef pointer);
unsigned dh_known_alignment(LLVMValueRef pointer, LLVMValueRef at);

// loops.cc
typedef void (*DhBackEdgeFn)(void *context, LLVMValueRef terminator);
void dh_uncounted_back_edges(LLVMValueRef function, DhBackEdgeFn found, void *context);
struct DhAccess {
  LLVMValueRef at, pointer;
  uint32_t size, write;
};
struct DhCovered {
  uint32_t access;
  int32_t offset;
  uint32_t stride;
};
struct DhHoisted {
  LLVMValueRef before, start, length; // length null: one access of the first covered one's size
  uint32_t write, inexact;
  const DhCovered *covered;
  size_t covered_count;
};
typedef void (*DhHoistedFn)(void *context, const DhHoisted *check);
void dh_hoist(LLVMValueRef function, const DhAccess *accesses, size_t count, DhHoistedFn hoisted, void *context);

// instructions.cc
int dh_may_synchronise(LLVMValueRef instruction);
LLVMValueRef dh_split_cold(LLVMValueRef condition, LLVMValueRef before);
int dh_is_vtable_access(LLVMValueRef instruction);
int dh_is_bare(LLVMValueRef instruction);
int dh_is_lanewise(LLVMValueRef instruction);
int dh_depends_on(LLVMValueRef value, LLVMValueRef load, int *masked);
int dh_single_thread_scope(LLVMValueRef instruction);
int dh_is_ifunc_resolver(LLVMValueRef function);
void dh_forget_memory_attributes(LLVMValueRef function);
LLVMValueRef dh_result_point(LLVMValueRef call);
LLVMTypeRef dh_element_type(LLVMValueRef call, unsigned argument);
LLVMTypeRef dh_byval_type(LLVMValueRef call, unsigned argument);

// concolic.cc
int dh_symbolic();
int dh_touches();
void dh_split_at_calls(LLVMValueRef function);
int dh_is_standard_stream(LLVMValueRef call, int argument);
void dh_allocate_registers(LLVMModuleRef module, unsigned most);
void dh_allow_optimisation(LLVMModuleRef module);
int dh_address_parts(LLVMValueRef gep, LLVMValueRef *variables, int64_t *scales, int64_t *constant, int most);
int dh_has_byval(LLVMValueRef call);
void dh_keep_global(LLVMModuleRef module, LLVMValueRef global);
}
