// What the concolic instrumentation needs of LLVM beyond the C API.
#include "shim.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

using namespace llvm;

// Read by the registration; given as `-mllvm -deadheat-symbolic`, with the plugin also named by `-load` so
// that clang knows the option in time.
static cl::opt<bool> Symbolic("deadheat-symbolic", cl::Hidden,
                              cl::desc("deadheat: add concolic instrumentation, keep no bitcode"));

static cl::opt<bool> Touches("deadheat-touches", cl::Hidden,
                             cl::desc("deadheat: tell the runtime of every access, for the pruning of paths"));

extern "C" int dh_symbolic() { return Symbolic; }

extern "C" int dh_touches() { return Touches; }

// Makes all that a function keeps from one call or branch to the next live in memory once `reg2mem` has run: blocks
// end behind each call, and parameters that are used further down are copied by an instruction at the entry.
extern "C" void dh_split_at_calls(LLVMValueRef function) {
  Function &F = *cast<Function>(unwrap(function));
  BasicBlock &Entry = F.getEntryBlock();
  for (Argument &A : F.args()) {
    bool Further = any_of(A.users(), [&](User *U) {
      auto *I = dyn_cast<Instruction>(U);
      return !I || I->getParent() != &Entry || !isa<StoreInst>(I);
    });
    if (!Further || A.hasByValAttr() || A.hasSwiftErrorAttr())
      continue;
    auto At = Entry.getFirstNonPHIOrDbgOrAlloca();
    auto *Copy = new FreezeInst(&A, "", At);
    A.replaceUsesWithIf(Copy, [&](Use &U) { return U.getUser() != Copy; });
  }
  SmallVector<CallInst *, 16> Calls;
  for (Instruction &I : instructions(F))
    if (auto *C = dyn_cast<CallInst>(&I); C && !isa<IntrinsicInst>(C) && !C->isMustTailCall())
      Calls.push_back(C);
  for (CallInst *C : Calls)
    if (Instruction *Next = C->getNextNode(); !Next->isTerminator() || isa<BranchInst>(Next))
      C->getParent()->splitBasicBlock(Next);
}

// Whether an argument of a call is standard output or standard error as <stdio.h> names them.
extern "C" int dh_is_standard_stream(LLVMValueRef call, int argument) {
  auto *C = cast<CallBase>(unwrap(call));
  if (static_cast<unsigned>(argument) >= C->arg_size())
    return 0;
  auto *L = dyn_cast<LoadInst>(C->getArgOperand(argument));
  auto *G = L ? dyn_cast<GlobalVariable>(L->getPointerOperand()) : nullptr;
  return G && (G->getName() == "stdout" || G->getName() == "stderr");
}

// Lets passes at work in functions of an -O0 build: decisions are kept, temporaries in memory are not wanted.
extern "C" void dh_allow_optimisation(LLVMModuleRef module) {
  for (Function &F : *unwrap(module))
    if (F.hasFnAttribute(Attribute::OptimizeNone)) {
      F.removeFnAttr(Attribute::OptimizeNone);
      F.removeFnAttr(Attribute::NoInline);
    }
}

// A GEP as base + constant + sum of scaled variables; the number of variables, -1 if it has no such form.
extern "C" int dh_address_parts(LLVMValueRef gep, LLVMValueRef *variables, int64_t *scales, int64_t *constant, int most) {
  auto *G = dyn_cast<GEPOperator>(unwrap(gep));
  auto *I = dyn_cast<Instruction>(unwrap(gep));
  if (!G || !I)
    return -1;
  SmallMapVector<Value *, APInt, 4> Variables;
  APInt Constant(64, 0);
  if (!G->collectOffset(I->getModule()->getDataLayout(), 64, Variables, Constant))
    return -1;
  int N = 0;
  for (auto &P : Variables) {
    if (N >= most || P.first->getType()->getIntegerBitWidth() > 64)
      return -1;
    variables[N] = wrap(P.first);
    scales[N++] = P.second.getSExtValue();
  }
  *constant = Constant.getSExtValue();
  return N;
}

// Functions with more blocks than `most` take the register allocator that works across blocks many minutes. If there is
// one, the module is compiled with the one that does not: slower code, in linear time.
extern "C" void dh_allocate_registers(LLVMModuleRef module, unsigned most) {
  auto IsLarge = [most](const Function &F) { return F.size() > most; };
  auto &Options = cl::getRegisteredOptions();
  auto Known = Options.find("optimize-regalloc");
  if (any_of(*unwrap(module), IsLarge) && Known != Options.end() && !Known->second->getNumOccurrences())
    Known->second->addOccurrence(0, "optimize-regalloc", "false");
}

// Whether a call hands a structure over by copy.
extern "C" int dh_has_byval(LLVMValueRef call) {
  auto *C = cast<CallBase>(unwrap(call));
  for (unsigned N = 0; N < C->arg_size(); ++N)
    if (C->isByValArgument(N))
      return 1;
  return 0;
}

// Keeps a global that nothing but stores refer to.
extern "C" void dh_keep_global(LLVMModuleRef module, LLVMValueRef global) {
  appendToCompilerUsed(*unwrap(module), {cast<GlobalValue>(unwrap(global))});
}

// The linker keeps it, too.
extern "C" void dh_retain_global(LLVMModuleRef module, LLVMValueRef global) {
  appendToUsed(*unwrap(module), {cast<GlobalValue>(unwrap(global))});
}
