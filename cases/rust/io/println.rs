//@ expect: none
// Standard output is behind std's re-entrant lock.
use std::io::Write;
use std::thread;

fn main() {
    let threads: Vec<_> = (0..3)
        .map(|n| {
            thread::spawn(move || {
                println!("thread {n}");
                let mut out = std::io::stdout().lock();
                writeln!(out, "again {n}").unwrap();
                eprintln!("and {n}");
            })
        })
        .collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
}
