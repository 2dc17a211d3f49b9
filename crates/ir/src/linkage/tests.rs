use super::*;
use crate::parse;

fn link(texts: &[&str]) -> Program {
    Program::link(texts.iter().map(|text| parse(text).unwrap()).collect())
}

const CALLER: &str = r#"
module "a.c"
struct %node 16 { 0 ptr 8, 8 i32 4 }
declare @f () void
define @main () void {
b0:
  call @f()
  return
}
"#;

fn callee(program: &Program) -> SymbolId {
    let main = program.module[program.symbol("main").unwrap()].body().unwrap();
    match program.module[main].instructions[0].operation {
        crate::Operation::Call {
            callee: crate::Callee::Direct(symbol),
            ..
        } => symbol,
        ref other => panic!("{other:?}"),
    }
}

fn definition(source: &str, linkage: &str) -> String {
    format!(
        "module \"{source}\"\nstruct %node 16 {{ 0 ptr 8, 8 i32 4 }}\ndefine @f {linkage} () void {{\nb0:\n  return\n}}\n"
    )
}

#[test]
fn a_declaration_meets_its_definition_in_either_order() {
    let there = definition("b.c", "external");
    for order in [[CALLER, &there], [&there, CALLER]] {
        let program = link(&order);
        assert!(program.module[callee(&program)].is_defined());
        assert_eq!(program.module.structs.len(), 1);
        assert_eq!(program.report, LinkReport::default());
    }
}

#[test]
fn a_strong_definition_stands_for_weak_ones() {
    let (weak, strong) = (definition("weak.c", "weak"), definition("strong.c", "external"));
    for order in [[CALLER, &weak, &strong], [CALLER, &strong, &weak]] {
        let program = link(&order);
        let body = program.module[callee(&program)].body().unwrap();
        assert_eq!(
            program.module.units[program.module[body].unit as usize].source,
            "strong.c"
        );
        assert_eq!(program.module.functions.len(), 2);
        assert_eq!((program.report.superseded, program.report.duplicates.len()), (1, 0));
    }
}

#[test]
fn a_second_strong_definition_is_reported() {
    let (one, two) = (definition("one.c", "external"), definition("two.c", "external"));
    let program = link(&[CALLER, &one, &two]);
    let duplicate = Duplicate {
        name: "f".into(),
        kept: 1,
        dropped: 2,
    };
    assert_eq!(program.report.duplicates, [duplicate]);
}

#[test]
fn internal_symbols_stay_apart() {
    let (one, two) = (definition("one.c", "internal"), definition("two.c", "internal"));
    let program = link(&[CALLER, &one, &two]);
    assert!(!program.module[callee(&program)].is_defined());
    assert_eq!(program.module.functions.len(), 3);
    assert_eq!(program.report.undefined, 1);
    // Names that are not unique print apart and parse back.
    let text = program.module.to_string();
    assert_eq!(parse(&text).unwrap().to_string(), text);
}

#[test]
fn aliases_are_followed_and_circles_counted() {
    let aliased = "module \"b.c\"\ndefine @real () void {\nb0:\n  return\n}\nalias @f = @again\nalias @again = @real\n";
    let program = link(&[CALLER, aliased]);
    assert_eq!(program.module.name(callee(&program)), "real");
    assert_eq!(program.symbol("again"), program.symbol("real"));
    let circle = link(&[CALLER, "alias @f = @g\nalias @g = @f\n"]);
    assert_eq!(circle.report.broken_aliases, 2);
    assert!(circle.symbol("f").is_some());
}

#[test]
fn addresses_through_aliases_move() {
    let program = link(&[
        "module \"a.c\"\nglobal @part undefined 4\nglobal @user 8 = {0: @part}\n",
        "module \"b.c\"\nglobal @whole 64\nalias @part = @whole+16\n",
    ]);
    assert!(
        program.module.to_string().contains("= {0: @whole+16}"),
        "{}",
        program.module
    );
}
