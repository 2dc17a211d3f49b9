//! The programs: how each is built, checked and put to work. Commands are for `sh -e`, in the program's tree.
//!
//! Their environment: `CC` and `CXX` of the build at hand, `CASES` (the directory `cases/real`), and, for tasks,
//! `PROGRAM` (the program's file) and `INPUT` (the input file). A check that would take longer than three minutes
//! is a subset, named here.

/// A program from a Debian source package.
pub struct Program {
    /// Its name here.
    pub name: &'static str,
    /// The source package.
    pub package: &'static str,
    /// Packages that it is built with.
    pub needs: &'static [&'static str],
    /// Makes the sources complete, with the system's compiler.
    pub prepare: &'static str,
    /// Builds it with `CC` and `CXX`.
    pub build: &'static str,
    /// Builds it again after a change.
    pub rebuild: &'static str,
    /// The program, in its tree.
    pub file: &'static str,
    /// Checks of its own, run plainly.
    pub check: &'static str,
    /// What is hunted in.
    pub tasks: &'static [Task],
    /// Pairs of functions between which a real race is known and argued in `docs/real-programs.md`.
    pub known: &'static [[&'static str; 2]],
    /// A race that is put into it.
    pub injected: Option<Injected>,
}

/// Work that the program does in a directory of its own.
pub struct Task {
    /// Its name.
    pub name: &'static str,
    /// Makes the directory ready.
    pub setup: &'static str,
    /// Arguments of the program.
    pub arguments: &'static [&'static str],
    /// Further arguments that let it write over its output.
    pub again: &'static [&'static str],
    /// The file that it writes; nothing if the program itself fails on a wrong result.
    pub output: &'static str,
    /// Shell command of the client, and what it waits for, if the program serves.
    pub client: Option<(&'static str, &'static str)>,
}

/// A patch in `cases/real`, and the functions in which its race is to be proven.
pub struct Injected {
    /// The patch.
    pub patch: &'static str,
    /// Each finding of the race has an access in one of these.
    pub functions: &'static [&'static str],
    /// What is hunted in: less input than elsewhere, so that there are many runs.
    pub task: Task,
}

const CHECK_XZ: &str = "make check > check.log 2>&1; grep -E '^# (PASS|FAIL|ERROR)' check.log | tr '\\n' ' '; echo";

/// POSIX threads, pools and the command line; the fuzzers and `playTests.sh` take longer.
const CHECK_ZSTD: &str = "make -C tests datagen poolTests CFLAGS='-g -O2' > check.log 2>&1
./tests/poolTests > pool.log
cd tests; python3 cli-tests/run.py --zstd=../programs/zstd --datagen=./datagen > ../cli.log 2>&1; tail -n 1 ../cli.log";

/// Threads and processes on one database; the Tcl test suite takes hours.
const CHECK_SQLITE: &str = "$CC -g -O1 -w -I. test/threadtest4.c sqlite3.o -pthread -ldl -lm -o threadtest4
$CC -g -O1 -w -I. mptest/mptest.c sqlite3.o -pthread -ldl -lm -o mptester
rm -rf checks; mkdir checks; cd checks
../threadtest4 4 > threads.log; tail -n 1 threads.log
../mptester mptest.db ../mptest/multiwrite01.test > processes.log; grep Summary processes.log";

const CHECK_PBZIP2: &str = "./pbzip2 -h 2>&1 | grep -q Example:
s=debian/tests/stuff
./pbzip2 -c -d $s/random10K.gz | cmp - $s/random10K
./pbzip2 -c -z $s/random10K | cmp - $s/random10K.gz
echo 'its 3 Debian tests'";

const CHECK_MEMCACHED: &str = "./memcached -u root -l 127.0.0.1 -p 21987 -U 0 -t 4 & server=$!
trap 'kill $server' EXIT
sleep 2
cat > client.bash <<'END'
set -e
exec 3<>/dev/tcp/127.0.0.1/21987
for i in $(seq 200); do
  printf 'set key%s.%s 0 0 4\\r\\n%04d\\r\\nget key%s.%s\\r\\n' $1 $i $i $1 $i >&3
  read -r stored <&3; read -r head <&3; read -r value <&3; read -r end <&3
  test \"$stored,$value,$end\" = \"$(printf 'STORED\\r,%04d\\r,END\\r' $i)\"
done
END
for n in 1 2 3 4 5 6; do bash client.bash $n & clients=\"$clients $!\"; done
for client in $clients; do wait $client; done
echo '6 clients, 1200 set and get'";

/// Sets keys and gets them again: number of the client, number of keys.
const MEMCACHED_CLIENT: &str = "cat > client.bash <<'END'
set -e
exec 3<>/dev/tcp/127.0.0.1/21987
for i in $(seq $2); do
  printf 'set key%s.%s 0 0 4\\r\\n%04d\\r\\nget key%s.%s\\r\\n' $1 $i $i $1 $i >&3
  read -r stored <&3; read -r head <&3; read -r value <&3; read -r end <&3
  test \"$stored,$value,$end\" = \"$(printf 'STORED\\r,%04d\\r,END\\r' $i)\"
done
END";

/// What `mksquashfs` is told, so that it writes the same each time.
const SQUASHFS: &[&str] = &[
    "in",
    "out.sq",
    "-noappend",
    "-processors",
    "2",
    "-no-progress",
    "-quiet",
    "-all-root",
    "-all-time",
    "0",
    "-mkfs-time",
    "0",
];

const CHECK_SQUASHFS: &str = "rm -rf check; mkdir check; cd check
cp -r ../squashfs-tools in; rm -f in/*.o
../squashfs-tools/mksquashfs in out.sq -noappend -processors 2 -no-progress -quiet
../squashfs-tools/unsquashfs -d out -p 2 -n -q out.sq > unpack.log
diff -r in out
echo \"$(ls in | wc -l) files there and back\"";

/// A server of two names with three threads, and six clients at once.
macro_rules! unbound {
    () => {
        "cat > unbound.conf <<'END'
server:
  interface: 127.0.0.1
  port: 21953
  do-daemonize: no
  num-threads: 3
  username: \"\"
  chroot: \"\"
  directory: \"\"
  pidfile: \"\"
  use-syslog: no
  logfile: \"\"
  local-data: \"a.example. A 10.0.0.1\"
  local-data: \"b.example. A 10.0.0.2\"
  module-config: \"iterator\"
remote-control:
  control-enable: no
END
cat > client.sh <<'END'
ask() { test \"$(dig +short +time=5 +tries=1 @127.0.0.1 -p 21953 $3 $1.example)\" = 10.0.0.$2; }
for i in 1 2 3; do ask a 1 & asks=\"$asks $!\"; ask b 2 +tcp & asks=\"$asks $!\"; done
for one in $asks; do wait $one || exit 1; done
END
"
    };
}

const CHECK_UNBOUND: &str = concat!(
    unbound!(),
    "./unbound -d -c unbound.conf > server.log 2>&1 & server=$!
trap 'kill $server' EXIT
sleep 2
sh client.sh
echo '6 clients'"
);

const CHECK_REDIS: &str = "cd src
./redis-server --port 21999 --io-threads 2 --io-threads-do-reads yes --save '' > server.log 2>&1 & server=$!
trap 'kill $server' EXIT
for i in 1 2 3 4 5 6 7 8 9 10; do ./redis-cli -p 21999 ping > /dev/null 2>&1 && break; sleep 1; done
./redis-cli -p 21999 set counter 1 > /dev/null
test \"$(./redis-cli -p 21999 incr counter)\" = 2
./redis-benchmark -p 21999 -q -n 20000 -c 20 -P 8 -t set,get,incr,lpush > benchmark.log 2>&1
./redis-cli -p 21999 shutdown nosave
trap - EXIT; wait $server
echo '80000 requests, 2 I/O threads'";

/// All programs.
pub const PROGRAMS: &[Program] = &[
    Program {
        name: "pbzip2",
        package: "pbzip2",
        needs: &["libbz2-dev", "patch", "dpkg-dev"],
        prepare: "",
        build: "CXXFLAGS='-g -O2' make CXX=\"$CXX\" pbzip2",
        rebuild: "CXXFLAGS='-g -O2' make CXX=\"$CXX\" pbzip2",
        file: "pbzip2",
        check: CHECK_PBZIP2,
        tasks: &[
            Task {
                name: "compress",
                setup: "cp \"$INPUT\" in.bin",
                arguments: &["-p4", "in.bin"],
                again: &["-k", "-f"],
                output: "in.bin.bz2",
                client: None,
            },
            Task {
                name: "decompress",
                setup: "cp \"$INPUT\" in.bin; \"$PROGRAM\" -p4 in.bin",
                arguments: &["-d", "-p4", "in.bin.bz2"],
                again: &["-k", "-f"],
                output: "in.bin",
                client: None,
            },
        ],
        known: &[],
        injected: Some(Injected {
            patch: "pbzip2-injected.patch",
            functions: &["outputBufferAdd"],
            task: Task {
                name: "injected",
                setup: "head -c 300000 \"$INPUT\" > in.bin",
                arguments: &["-p4", "-1", "-b1", "in.bin"],
                again: &[],
                output: "",
                client: None,
            },
        }),
    },
    Program {
        name: "xz",
        package: "xz-utils",
        needs: &["patch", "dpkg-dev"],
        prepare: "",
        build: "./configure --disable-shared --disable-nls --disable-doc --disable-scripts CFLAGS='-g -O2'; make -j2",
        rebuild: "make -C src/liblzma; make -C src/xz",
        file: "src/xz/xz",
        check: CHECK_XZ,
        tasks: &[
            Task {
                name: "compress",
                setup: "cp \"$INPUT\" in.bin",
                arguments: &["-T2", "-1", "--block-size=1MiB", "in.bin"],
                again: &["-k", "-f"],
                output: "in.bin.xz",
                client: None,
            },
            Task {
                name: "decompress",
                setup: "cp \"$INPUT\" in.bin; \"$PROGRAM\" -T2 -1 --block-size=1MiB in.bin",
                arguments: &["-d", "-T2", "in.bin.xz"],
                again: &["-k", "-f"],
                output: "in.bin",
                client: None,
            },
        ],
        known: &[["stream_decode_mt", "worker_decoder"]],
        injected: Some(Injected {
            patch: "xz-injected.patch",
            functions: &["worker_start"],
            task: Task {
                name: "injected",
                setup: "head -c 300000 \"$INPUT\" > in.bin",
                arguments: &["-T2", "-1", "--block-size=64KiB", "in.bin"],
                again: &[],
                output: "",
                client: None,
            },
        }),
    },
    Program {
        name: "zstd",
        package: "libzstd",
        needs: &["patch", "dpkg-dev", "python3"],
        prepare: "",
        build: "make -j2 -C programs zstd CFLAGS='-g -O2'",
        rebuild: "make -j2 -C programs zstd CFLAGS='-g -O2'",
        file: "programs/zstd",
        check: CHECK_ZSTD,
        tasks: &[
            Task {
                name: "compress",
                setup: "cp \"$INPUT\" in.bin",
                arguments: &["-q", "-T2", "-1", "-B1048576", "--rm", "in.bin"],
                again: &["-f", "-k"],
                output: "in.bin.zst",
                client: None,
            },
            Task {
                name: "decompress",
                setup: "cp \"$INPUT\" in.bin; \"$PROGRAM\" -q -T2 -1 -B1048576 --rm in.bin",
                arguments: &["-q", "-d", "-T2", "--rm", "in.bin.zst"],
                again: &["-f", "-k"],
                output: "in.bin",
                client: None,
            },
        ],
        known: &[],
        injected: Some(Injected {
            patch: "zstd-injected.patch",
            functions: &["ZSTDMT_compressionJob"],
            task: Task {
                name: "injected",
                setup: "head -c 2000000 \"$INPUT\" > in.bin",
                arguments: &["-q", "-T2", "-1", "-B524288", "--rm", "in.bin"],
                again: &[],
                output: "",
                client: None,
            },
        }),
    },
    Program {
        name: "sqlite",
        package: "sqlite3",
        needs: &["tcl", "patch", "dpkg-dev"],
        prepare: "./configure --disable-tcl --disable-readline; make sqlite3.c",
        build: "$CC -g -O2 -w -DSQLITE_THREADSAFE=1 -c sqlite3.c -o sqlite3.o
$CC -g -O2 -I. \"$CASES/sqlite_client.c\" sqlite3.o -pthread -ldl -lm -o sqlite_client",
        rebuild: "$CC -g -O1 -w -DSQLITE_THREADSAFE=1 -c sqlite3.c -o sqlite3.o
$CC -g -O2 -I. \"$CASES/sqlite_client.c\" sqlite3.o -pthread -ldl -lm -o sqlite_client",
        file: "sqlite_client",
        check: CHECK_SQLITE,
        tasks: &[Task {
            name: "four threads",
            setup: "",
            arguments: &[],
            again: &[],
            output: "",
            client: None,
        }],
        known: &[
            ["walIndexTryHdr", "walIndexWriteHdr"],
            ["walTryBeginRead", "walIndexWriteHdr"],
        ],
        injected: Some(Injected {
            patch: "sqlite-injected.patch",
            functions: &["sqlite3StatusUp", "sqlite3StatusDown", "sqlite3StatusValue"],
            task: Task {
                name: "injected",
                setup: "",
                arguments: &[],
                again: &[],
                output: "",
                client: None,
            },
        }),
    },
    Program {
        name: "squashfs",
        package: "squashfs-tools",
        needs: &["zlib1g-dev", "patch", "dpkg-dev"],
        prepare: "",
        build: "make -C squashfs-tools mksquashfs unsquashfs CC=\"$CC\" EXTRA_CFLAGS='-g -fgnu89-inline'",
        rebuild: "make -C squashfs-tools mksquashfs CC=\"$CC\" EXTRA_CFLAGS='-g -fgnu89-inline'",
        file: "squashfs-tools/mksquashfs",
        check: CHECK_SQUASHFS,
        tasks: &[Task {
            name: "pack",
            setup: "mkdir in; split -b 200k \"$INPUT\" in/part",
            arguments: SQUASHFS,
            again: &[],
            output: "out.sq",
            client: None,
        }],
        known: &[],
        injected: Some(Injected {
            patch: "squashfs-injected.patch",
            functions: &["frag_orderer"],
            task: Task {
                name: "injected",
                setup: "mkdir in; head -c 300000 \"$INPUT\" | split -b 30k - in/part",
                arguments: SQUASHFS,
                again: &[],
                output: "",
                client: None,
            },
        }),
    },
    Program {
        name: "unbound",
        package: "unbound",
        needs: &[
            "libssl-dev",
            "libexpat1-dev",
            "bison",
            "flex",
            "bind9-dnsutils",
            "dpkg-dev",
        ],
        prepare: "",
        build: "./configure --with-pthreads --disable-shared CFLAGS='-g -O2' > configure.log; make -j2 unbound",
        rebuild: "make -j2 unbound",
        file: "unbound",
        check: CHECK_UNBOUND,
        tasks: &[Task {
            name: "serve",
            setup: unbound!(),
            arguments: &["-d", "-c", "unbound.conf"],
            again: &[],
            output: "",
            client: Some(("sh client.sh", "21953")),
        }],
        known: &[],
        injected: None,
    },
    Program {
        name: "memcached",
        package: "memcached",
        needs: &["libevent-dev", "dpkg-dev"],
        prepare: "",
        build: "./configure CFLAGS='-g -O2'; make -j2 memcached",
        rebuild: "make -j2 memcached",
        file: "memcached",
        check: CHECK_MEMCACHED,
        tasks: &[Task {
            name: "serve",
            setup: MEMCACHED_CLIENT,
            arguments: &["-u", "root", "-l", "127.0.0.1", "-p", "21987", "-U", "0", "-t", "4"],
            again: &[],
            output: "",
            client: Some((
                "bash client.bash 1 20 & a=$!; bash client.bash 2 20 & b=$!; wait $a && wait $b",
                "21987",
            )),
        }],
        known: &[
            ["crawler_expired_init", "clock_handler"],
            ["crawler_expired_doneclass", "clock_handler"],
        ],
        injected: None,
    },
    Program {
        name: "redis",
        package: "redis",
        needs: &["dpkg-dev"],
        prepare: "",
        build: "make -j2 MALLOC=libc OPTIMIZATION=-O1 USE_SYSTEMD=no",
        rebuild: "make -j2 MALLOC=libc OPTIMIZATION=-O1 USE_SYSTEMD=no",
        file: "src/redis-server",
        check: CHECK_REDIS,
        tasks: &[Task {
            name: "serve",
            setup: "ln -s \"$(dirname \"$PROGRAM\")/redis-benchmark\" benchmark",
            arguments: &[
                "--port",
                "21999",
                "--io-threads",
                "4",
                "--io-threads-do-reads",
                "yes",
                "--save",
                "",
            ],
            again: &[],
            output: "",
            client: Some(("./benchmark -p 21999 -q -n 100 -c 10 -t set,get", "21999")),
        }],
        known: &[],
        injected: None,
    },
];
