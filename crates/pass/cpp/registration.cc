// Registration of the two passes, and compression by the host compiler's own LLVM.
#include "shim.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassInstrumentation.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Compression.h"
#include <cstring>
#include <mutex>

using namespace llvm;

// An option, so that the command line alone says what the object holds; the plugin is loaded with `-Xclang -load` too
// where it is given, since options are read before pass plugins are.
static cl::opt<bool> BitcodeOnly("deadheat-bitcode-only", cl::Hidden,
                                 cl::desc("keep the front end's bitcode and change nothing else"));

namespace {
constexpr StringRef FrontEndLoad = "deadheat.load", MaskedLoad = "deadheat.masked";

// Marks the loads that the front end made. What promotes memory to registers reads it before a loop, with neither
// the marks nor the types nor the places of the loads for which it stands.
void markLoads(Module &M) {
  MDNode *Mark = MDNode::get(M.getContext(), {});
  for (Function &F : M)
    for (Instruction &I : instructions(F))
      if (isa<LoadInst>(I) && !I.hasMetadataOtherThanDebugLoc())
        I.setMetadata(FrontEndLoad, Mark);
}

void unmarkLoads(Module &M) {
  for (Function &F : M)
    for (Instruction &I : instructions(F)) {
      I.setMetadata(FrontEndLoad, nullptr);
      I.setMetadata(MaskedLoad, nullptr);
    }
}

// Marks the masked loads of vectorisation. Where memory is known to exist they become loads of all lanes, which keep
// the mark.
void markMasked(StringRef Pass, Any IR, const PreservedAnalyses &) {
  if (Pass != "LoopVectorizePass" && Pass != "SLPVectorizerPass")
    return;
  auto *F = any_cast<const Function *>(&IR);
  if (!F)
    return;
  MDNode *Mark = MDNode::get((*F)->getContext(), {});
  for (Instruction &I : instructions(const_cast<Function &>(**F)))
    if (auto *Call = dyn_cast<IntrinsicInst>(&I); Call && Call->getIntrinsicID() == Intrinsic::masked_load)
      Call->setMetadata(MaskedLoad, Mark);
}

// What no attribute of a function forbids, and whose reads nothing tells from the program's own afterwards:
// - vectorised, a loop that may be left early reads elements behind the one at which it is left;
// - a value that a loop loads and one of its branches may change is loaded again at the end of that branch, also
//   where the loop ends then (a lock that the branch gave back, say, is no longer held).
void forbidReads() {
  auto &Options = cl::getRegisteredOptions();
  for (StringRef Name : {"enable-early-exit-vectorization", "enable-load-in-loop-pre"})
    if (auto Option = Options.find(Name); Option != Options.end())
      Option->second->addOccurrence(0, Name, "false", /*MultiArg=*/true);
}

// A callee's load that it makes on some paths only would be made by its callers in any case.
bool mayRun(StringRef Pass, Any) { return Pass != "ArgumentPromotionPass"; }

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
    markLoads(M);
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
    unmarkLoads(M);
    return PreservedAnalyses::none();
  }
  static bool isRequired() { return true; }
};
} // namespace

// Whether a load was a masked one.
extern "C" int dh_was_masked(LLVMValueRef load) { return unwrap<Instruction>(load)->getMetadata(MaskedLoad) != nullptr; }

extern "C" void dh_register(void *pass_builder) {
  PassBuilder &PB = *static_cast<PassBuilder *>(pass_builder);
  static std::once_flag Once; // backends of one link register side by side
  std::call_once(Once, forbidReads);
  if (auto *Callbacks = PB.getPassInstrumentationCallbacks()) {
    Callbacks->registerAfterPassCallback(markMasked);
    Callbacks->registerShouldRunOptionalPassCallback(mayRun);
  }
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
