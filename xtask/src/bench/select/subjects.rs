//! The programs and their inputs: three of our own in `benches/select`, and programs from Debian's sources, built as
//! `cargo xtask real` builds them.

use crate::real::recipe::{PROGRAMS, Program};

/// A program and a test suite of it.
pub struct Subject {
    /// How it is built.
    pub program: &'static Program,
    /// Makes the directory ready in which every input runs; `INPUT` is a file of text.
    pub setup: &'static str,
    /// Command lines.
    pub inputs: &'static [&'static str],
}

/// A program in one file of `benches/select`.
const fn own(name: &'static str, build: &'static str) -> Program {
    Program {
        name,
        package: "",
        needs: &[],
        prepare: "",
        build,
        rebuild: "",
        file: name,
        check: "",
        tasks: &[],
        known: &[],
        injected: None,
    }
}

const FFT: Program = own(
    "fft",
    "$CC -g -O2 \"$CASES/../../benches/select/fft.c\" -o fft -lm -pthread",
);
const LU: Program = own(
    "lu",
    "$CC -g -O2 \"$CASES/../../benches/select/lu.c\" -o lu -lm -pthread",
);
const ROUTER: Program = own(
    "router",
    "$CC -g -O2 \"$CASES/../../benches/select/router.c\" -o router -pthread",
);
const LUA: Program = Program {
    package: "lua5.4",
    needs: &["dpkg-dev"],
    ..own(
        "lua",
        "cd src
echo '#define DEB_HOST_MULTIARCH \"x86_64-linux-gnu\"' > lua5.4-deb-multiarch.h
for f in l*.c; do case $f in lua.c|luac.c) ;; *) $CC -g -O2 -DLUA_USE_POSIX -c $f;; esac; done
$CC -g -O2 -I. \"$CASES/../../benches/select/lua_workers.c\" l*.o -o ../lua -lm -pthread",
    )
};

const LUA_SCRIPTS: &str = "cat > count.lua <<'END'
for i = 1, 20000 do share.add('n') end
END
cat > strings.lua <<'END'
local t = {}
for i = 1, 5000 do t[#t + 1] = string.format('%05d', i * 7919 % 1000); share.put(t[#t]) end
table.sort(t)
print(table.concat(t, ','):gsub('0+', '.'):sub(1, 40))
END
cat > takes.lua <<'END'
local n = 0
for i = 1, 5000 do local s = share.take(); if s then n = n + #s:match('%d+') end end
share.add('taken', n)
END
cat > closures.lua <<'END'
local function make(n) return function() n = n + 1; return n end end
local sum = 0
for i = 1, 10000 do local f = make(i); f(); sum = sum + f() end
share.add('sum', sum)
END
cat > coroutines.lua <<'END'
local function each(n) return coroutine.wrap(function() for i = 1, n do coroutine.yield(i) end end) end
for i in each(10000) do share.add('c', i) end
END
cat > errors.lua <<'END'
for i = 1, 3000 do local ok, e = pcall(function() error({i}) end); share.add('errors', e[1]) end
END
cat > tables.lua <<'END'
local t = setmetatable({}, {__index = function(_, k) return k * 2 end})
for i = 1, 30000 do t[i % 17] = (t[i] or 0) + 1 end
collectgarbage()
share.add('t', #t)
END";

/// All of them.
pub fn all() -> Vec<Subject> {
    let packaged = |name: &str| PROGRAMS.iter().find(|p| p.name == name);
    let mut all = vec![
        Subject {
            program: &FFT,
            setup: "",
            inputs: &[
                "-p1 -m14",
                "-p2 -m14",
                "-p4 -m14",
                "-p4 -m16",
                "-p2 -m14 -t",
                "-p4 -m14 -t",
                "-p4 -m14 -s",
                "-p4 -m14 -r",
                "-p2 -m12 -z",
                "-p4 -m14 -t -s -r",
            ],
        },
        Subject {
            program: &LU,
            setup: "",
            inputs: &[
                "-n240 -p1",
                "-n240 -p2",
                "-n240 -p4",
                "-n160 -b16 -p4",
                "-n240 -p4 -t",
                "-n240 -p4 -s",
                "-n200 -b7 -p3",
                "-n240 -p4 -d -o",
                "-n240 -p4 -t -s",
                "-n8 -p2",
            ],
        },
        Subject {
            program: &ROUTER,
            setup: "",
            inputs: &[
                "cx cx",
                "ckx lkx",
                "rx u",
                "rx rx",
                "rnx rnx u",
                "lq gx",
                "cq lq grx",
                "htx fx",
                "hfex efx",
                "sx mx",
                "ckq rtq u glx",
                "cklq gnhx grx u",
                "mq ghx",
                "nlx nlx",
                "efsmx ckl u",
            ],
        },
        Subject {
            program: &LUA,
            setup: LUA_SCRIPTS,
            inputs: &[
                "count.lua count.lua",
                "-u count.lua count.lua",
                "strings.lua takes.lua",
                "closures.lua closures.lua",
                "coroutines.lua count.lua",
                "errors.lua tables.lua",
                "tables.lua tables.lua",
                "strings.lua strings.lua",
                "-u closures.lua takes.lua errors.lua",
                "strings.lua",
            ],
        },
    ];
    let texts = "head -c 600000 \"$INPUT\" > a; head -c 90000 \"$INPUT\" > b; head -c 100 \"$INPUT\" > c; : > d\n";
    let of_packages: [(&str, &str, &[&str]); 3] = [
        (
            "pbzip2",
            "for f in a b; do \"$PROGRAM\" -k -p2 -b1 $f; done; cat b > e; bzip2 -k e",
            &[
                "-k -f -p4 -b1 a",
                "-k -f -p2 -1 b",
                "-k -f -p1 a",
                "-k -f -d -p4 a.bz2",
                "-k -f -d -p2 e.bz2",
                "-t -p4 a.bz2",
                "-k -f -p4 c",
                "-k -f -p4 -r -b1 a",
                "-c -p4 -b1 a",
                "-k -f -v -p3 -b1 a b",
            ],
        ),
        (
            "xz",
            "\"$PROGRAM\" -k -T2 -1 --block-size=64KiB a; \"$PROGRAM\" -k -1 b",
            &[
                "-k -f -T2 -1 --block-size=64KiB a",
                "-k -f -T4 -0 --block-size=64KiB a",
                "-k -f -T1 -1 b",
                "-k -f -d -T2 a.xz",
                "-k -f -d -T4 b.xz",
                "-t -T2 a.xz",
                "-l a.xz",
                "-k -f -T2 -1 c",
                "-c -T2 -1 --block-size=32KiB b",
                "-k -f -T2 -1 --check=sha256 --block-size=64KiB b",
            ],
        ),
        (
            "zstd",
            "\"$PROGRAM\" -q -k a; \"$PROGRAM\" -q -k b",
            &[
                "-q -f -T2 -1 -B65536 a",
                "-q -f -T1 -1 a",
                "-q -f -T2 -3 -B65536 b",
                "-q -f -T4 -1 --long=20 a",
                "-q -f -d a.zst -o a.out",
                "-q -t a.zst",
                "-q -f -T2 -1 --rsyncable a",
                "-q -f -T2 -1 c d",
                "-q -c -T2 -1 -B65536 a",
                "-q -f -T2 -1 --no-check -B65536 a b",
            ],
        ),
    ];
    for (name, setup, inputs) in of_packages {
        let setup = Box::leak(format!("{texts}{setup}").into_boxed_str());
        all.extend(packaged(name).map(|program| Subject { program, setup, inputs }));
    }
    all
}
