// Registration of the two passes, and compression by the host compiler's own LLVM.
#include "shim.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Compression.h"
#include <cstring>

using namespace llvm;

// An option, so that the command line alone says what the object holds; the plugin is loaded with `-Xclang -load` too
// where it is given, since options are read before pass plugins are.
static cl::opt<bool> BitcodeOnly("deadheat-bitcode-only", cl::Hidden,
                                 cl::desc("keep the front end's bitcode and change nothing else"));

namespace {
// Both must run on optnone functions and at -O0: hence isRequired.
struct KeepBitcode : PassInfoMixin<KeepBitcode> {
  PreservedAnalyses run(Module &M, ModuleAnalysisManager &) {
    if (dh_symbolic())
      dh_concolic(wrap(&M));
    else
      dh_keep_bitcode(wrap(&M));
    if (BitcodeOnly)
      return PreservedAnalyses::all();
    // A load that the optimiser hoists above its condition is a race that the program does not have. This
    // attribute is how LLVM is told not to invent memory accesses; it is taken off again below.
    for (Function &F : M)
      if (!F.isDeclaration())
        F.addFnAttr(Attribute::SanitizeThread);
    return PreservedAnalyses::none();
  }
  static bool isRequired() { return true; }
};
struct Instrument : PassInfoMixin<Instrument> {
  PreservedAnalyses run(Module &M, ModuleAnalysisManager &) {
    if (BitcodeOnly) {
      dh_write_bitcode(wrap(&M));
      return PreservedAnalyses::all();
    }
    for (Function &F : M)
      F.removeFnAttr(Attribute::SanitizeThread);
    dh_instrument(wrap(&M));
    return PreservedAnalyses::none();
  }
  static bool isRequired() { return true; }
};
} // namespace

extern "C" void dh_register(void *pass_builder) {
  PassBuilder &PB = *static_cast<PassBuilder *>(pass_builder);
  PB.registerPipelineStartEPCallback([](ModulePassManager &MPM, OptimizationLevel) { MPM.addPass(KeepBitcode()); });
  PB.registerOptimizerLastEPCallback(
      [](ModulePassManager &MPM, OptimizationLevel, ThinOrFullLTOPhase) { MPM.addPass(Instrument()); });
}

// Compresses with zstd into `output`; 0 if this LLVM has no zstd or the result does not fit.
extern "C" size_t dh_compress(const uint8_t *input, size_t length, uint8_t *output, size_t capacity) {
  if (!compression::zstd::isAvailable())
    return 0;
  SmallVector<uint8_t, 0> Out;
  compression::zstd::compress(ArrayRef<uint8_t>(input, length), Out, 1);
  if (Out.size() > capacity)
    return 0;
  memcpy(output, Out.data(), Out.size());
  return Out.size();
}
