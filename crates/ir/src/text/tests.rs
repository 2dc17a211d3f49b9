use crate::*;

/// Every statement of the text form.
const ALL: &str = r#"
module "all.c"
struct %pair 8 { 0 i32 4, 4 i32 4 }
struct %node 24 { 0 ptr 8 "next", 8 i32 4, 16 agg 8 %pair }
struct %"ns::Box<int>" 0 { }
global @table internal constant 16 = {0: @main tag node+0, 8: 7i64}
global @own external thread_local 4
global @elsewhere external undefined 0 %node at "all.h":3:1 in ""
global @"odd name" weak section ".data.x" address_taken 24 %node = {0: @table+8!node+0, 8: {0: 1i32, 4: -2i32}}
declare @f external no_return read_only () void
declare @printf external (ptr, ...) i32
alias @other external = @f
alias @inside external = @table+8
ifunc @chosen external = @resolve
define @resolve external fresh_result constructor () ptr {
b0:
  return @main
}
define @main external (i32, ptr) i32 at "all.c":10:0 in "main" {
b0:
  %a = alloca 24 %node times %0
  %v = load ptr 8 %a tag node+0 atomic acquire volatile at 11:2
  store i32 4 7i32 to %v tag node+8
  %p = offset %v - 8 + %0 x 16 + 3i64 x 8 [node+16, pair+4]
  %c = call (i32) ptr *%v(%0) at "in.h":4:5 in "helper" inlined 12:3
  call @printf(@"odd name", null, undef, opaque)
  asm "lock; incl %0" (writes 4 %p, reads 4 %p, in %0) clobbers_memory atomic
  %t = ult %0, 3i32
  branch %t, b1, b2
b1:
  %s ptr = select %t, %a, %p
  %n i32 = add %0, 1i32
  %w = ptrtoint %s
  %q = inttoptr %w
  memcpy %a, %p, 24i64
  memmove %a, %p, 24i64
  memset %a, 0i8, 24i64
  %old = rmw add i32 4 %p, 1i32 atomic seq_cst
  %x agg = cmpxchg i32 4 %p, 0i32, 1i32 failure relaxed atomic acq_rel
  %first i32 = extract %x at_offset 0
  %y agg = insert %x, %first at_offset 4
  fence release single_thread
  %va ptr = va_arg %a
  %m vec = mix (%n, %w)
  switch %n, b2 [1 b1, 2 b3]
b2:
  %phi i32 = phi [b0 1i32, b1 %n]
  call @f()
  invoke b3, b4
b3:
  return 0i32
b4:
  %lp = landing_pad
  resume
b5:
  unreachable
b6:
  switch unknown, b5 [0 b4]
}
"#;

#[test]
fn what_prints_parses_back_to_the_same() {
    let module = parse(ALL).unwrap();
    let text = module.to_string();
    let again = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(again.to_string(), text);
    assert_eq!(again.functions, module.functions);
    let bytes = postcard::to_stdvec(&module).unwrap();
    assert_eq!(postcard::from_bytes::<Module>(&bytes).unwrap(), module);
}

#[test]
fn linking_one_module_changes_nothing_but_aliases() {
    let text = ALL.replace("alias", "; alias");
    let module = parse(&text).unwrap();
    let linked = Program::link(vec![module.clone()]);
    assert_eq!(linked.module.to_string(), module.to_string());
}

#[test]
fn errors_tell_the_line() {
    for (text, line) in [
        ("module \"a\"\nglobal @x", 2),
        ("define @f () void {\nb0:\n  jump b9\n}", 3),
        ("define @f () void {\nb0:\n  %x = load ptr 8 %y\n  return\n}", 3),
        ("define @f () void {\nb0:\n  fence relaxed\n}", 3),
        ("define @f () void {", 1),
        ("nonsense", 1),
        ("global @a 4\nglobal @a 4", 2),
    ] {
        assert_eq!(parse(text).unwrap_err().line, line, "{text}");
    }
}

proptest::proptest! {
    #[test]
    fn damaged_text_never_panics(at in 0..ALL.len(), with in "[ -~\n]{0,3}", cut in 0..40usize) {
        let end = (at + cut).min(ALL.len());
        let text = format!("{}{with}{}", &ALL[..at], &ALL[end..]);
        let _ = parse(&text).map(|module| Program::link(vec![module]));
    }
}

#[test]
fn accessors_agree_with_the_text() {
    let module = parse(ALL).unwrap();
    let main = module[module.find("main").unwrap()].body().unwrap();
    let function = &module[main];
    assert_eq!(function.locals(), 2 + function.instructions.len());
    assert_eq!(function.definition(LocalId::new(0)), None);
    let alloca = function.definition(function.local_of(0)).unwrap();
    assert!(matches!(alloca.operation, Operation::Alloca { size: 24, .. }));
    let predecessors = function.predecessors();
    assert_eq!(predecessors[3], [BlockId::new(1), BlockId::new(2)]);
    let tag = module.tags.iter().position(|tag| tag.offset == 0).unwrap();
    assert_eq!(module.describe_tag(TagId::new(tag as u32)), "node.next");
}
