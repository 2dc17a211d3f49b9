//! Start-up. (First version: the panic handler.)

#[panic_handler]
fn panicked(info: &core::panic::PanicInfo<'_>) -> ! {
    crate::sys::say(&alloc::format!("deadheat runtime: {info}"));
    crate::sys::exit_group(70)
}
