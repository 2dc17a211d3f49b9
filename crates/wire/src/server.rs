//! What the tool and a server of runs say to each other.
//!
//! A server is the program itself, linked and not yet begun: its file of [`crate::plan::PLAN_VARIABLE`] begins with
//! [`MAGIC`] in the place of a plan. Its descriptor 0 is a stream socket to the tool; at the start of the file on its
//! descriptor 1 stands the process id of the run that goes on (`u32`), or 0.
//!
//! The server says [`HELLO`] once. For each run the tool then sends the length of what follows (`u32`), the run's
//! directory and the path of its standard input, each with a NUL at its end; the server answers with the status of the
//! run's first process, as `waitpid` has it (`i32`), when all its processes are gone. A directory is as long as that
//! which the server was started in: it takes its place in the environment. When the socket is closed the server ends.

/// First bytes of the file that makes a program a server.
pub const MAGIC: [u8; 8] = *b"DHSERVE\x01";
/// The server is ready.
pub const HELLO: [u8; 8] = *b"DHREADY\x01";
/// Descriptor of the socket.
pub const SOCKET: i32 = 0;
/// Descriptor of the file with the process id.
pub const NOTE: i32 = 1;
/// Most bytes of what follows the length.
pub const LONGEST: usize = 8000;
