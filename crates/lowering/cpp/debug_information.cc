// Debug information that LLVM's C API does not reach: scopes of locations, members of types.
#include "llvm-c/Core.h"
#include "llvm-c/DebugInfo.h"
#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Module.h"
#include <string>

using namespace llvm;

extern "C" {

// Strings are not terminated and live as long as the module.
struct DhScope {
  const char *file, *function;
  size_t file_length, function_length;
};

// The file and function of a scope; 0 if it is none.
int dh_scope(LLVMMetadataRef scope, DhScope *out) {
  auto *S = scope ? dyn_cast<DIScope>(unwrap(scope)) : nullptr;
  if (!S)
    return 0;
  StringRef File = S->getFilename(), Function;
  DISubprogram *Sub = nullptr;
  if (auto *Local = dyn_cast<DILocalScope>(S))
    Sub = Local->getSubprogram();
  if (Sub)
    Function = Sub->getLinkageName().empty() ? Sub->getName() : Sub->getLinkageName();
  *out = {File.data(), Function.data(), File.size(), Function.size()};
  return 1;
}

// File and line of a global variable, from its first debug expression; 0 if it has none.
int dh_variable(LLVMValueRef variable, DhScope *out, unsigned *line) {
  auto *G = dyn_cast<GlobalVariable>(unwrap(variable));
  SmallVector<DIGlobalVariableExpression *, 1> Expressions;
  if (G)
    G->getDebugInfo(Expressions);
  if (Expressions.empty())
    return 0;
  DIGlobalVariable *V = Expressions.front()->getVariable();
  StringRef File = V->getFilename();
  *out = {File.data(), nullptr, File.size(), 0};
  *line = V->getLine();
  return 1;
}

static std::string qualified(const DICompositeType *T) {
  std::string Name = T->getName().str();
  for (const DIScope *S = T->getScope(); S; S = S->getScope()) {
    if (isa<DINamespace>(S))
      Name = (S->getName().empty() ? std::string("(anonymous namespace)") : S->getName().str()) + "::" + Name;
    else if (isa<DICompositeType>(S) && !S->getName().empty())
      Name = S->getName().str() + "::" + Name;
    else
      break;
  }
  return Name;
}

typedef void (*DhMember)(void *to, const char *type, size_t type_length, uint64_t type_bits, const char *member,
                         size_t member_length, uint64_t offset_bits);

// Tells each named member of each named struct and class of the module.
void dh_members(LLVMModuleRef module, DhMember tell, void *to) {
  DebugInfoFinder Finder;
  Finder.processModule(*unwrap(module));
  for (DIType *T : Finder.types()) {
    auto *C = dyn_cast<DICompositeType>(T);
    if (!C || C->getName().empty() || C->isForwardDecl())
      continue;
    if (C->getTag() != dwarf::DW_TAG_structure_type && C->getTag() != dwarf::DW_TAG_class_type)
      continue;
    std::string Name = qualified(C);
    for (DINode *E : C->getElements()) {
      auto *M = dyn_cast_or_null<DIDerivedType>(E);
      if (!M || M->getTag() != dwarf::DW_TAG_member || M->isStaticMember() || M->getName().empty())
        continue;
      tell(to, Name.data(), Name.size(), C->getSizeInBits(), M->getName().data(), M->getName().size(),
           M->getOffsetInBits());
    }
  }
}
}
