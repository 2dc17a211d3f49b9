//! `rand` and `random`: the C library's numbers, or the plan's; input in the symbolic flavour.

use super::interpose;
use crate::concolic::sources;
use crate::real::real;
use libc::{c_int, c_long, c_uint};

interpose! {
    fn rand(_t;) -> c_int {
        let value = real!(rand: fn() -> c_int)();
        sources::rand(rand as *const () as usize, value as u32) as c_int
    }
    fn random(_t;) -> c_long {
        let value = real!(random: fn() -> c_long)();
        sources::rand(random as *const () as usize, value as u32).into()
    }
    fn rand_r(_t; seed: *mut c_uint) -> c_int {
        let value = real!(rand_r: fn(*mut c_uint) -> c_int)(seed);
        sources::rand(rand_r as *const () as usize, value as u32) as c_int
    }
}
