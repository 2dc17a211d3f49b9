//! OpenMP: what LLVM's library orders is ordered, what it does not races. A plain run hears nothing of it.
//!
//! Needs clang's OpenMP library; without it the test says so and checks nothing.

mod programs;

use programs::{Place, text};
use std::path::Path;
use std::process::Command;

const LIBRARY: &str = "/usr/lib/llvm-22/lib";
const PROGRAM: &str = "#include <omp.h>\n\
    int sum, counted, lost;\n\
    int main(void) {\n kmp_set_blocktime(0); omp_set_num_threads(2);\n\
    #pragma omp parallel for reduction(+ : sum)\n for (int i = 0; i < 4; i++) sum += i;\n\
    #pragma omp parallel\n {\n\
    #pragma omp critical\n counted++;\n lost++;\n }\n\
    return sum + counted != 8;\n}\n";

#[test]
fn what_regions_order_is_not_suspected() {
    if !Path::new(LIBRARY).join("libomp.so").is_file() {
        eprintln!("SKIPPED: no libomp in {LIBRARY}");
        return;
    }
    let place = Place::new("openmp");
    let path = format!("-Wl,-rpath,{LIBRARY}");
    place.build_with("cc", "regions.c", PROGRAM, &["-O1", "-fopenmp", &path]);
    let plain = Command::new(place.join("regions")).output().expect("the program runs");
    assert!(plain.status.success() && text(&plain).is_empty(), "{}", text(&plain));
    let (_, told) = place.run(&["detect", "--", "./regions"]);
    assert!(told.contains("1 suspected") && told.contains("global `lost`"), "{told}");
}
