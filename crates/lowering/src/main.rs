//! The worker that lowers LLVM bitcode to the representation of crate `ir`: frames in, frames out
//! (`deadheat_wire::lowering`). A part of an installation, started by the tool; of no use by hand.
//!
//! LLVM may abort the process on bad bitcode; the tool then starts another worker and counts the module as skipped.
//! One LLVM context a module, freed at once. What LLVM has to say goes into the reply, not to standard error.
//!
//! Architecture invariant: the only analysis program that links LLVM. Unsafe code is calls of LLVM alone.

mod assembly;
mod calls;
mod constants;
mod debug_locations;
mod function;
mod initialisers;
mod instructions;
mod llvm;
mod module;
mod preparation;
mod types;
mod unread;

use deadheat_wire::lowering::{Reply, Request, Settings};
use std::io::{self, Read, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    match serve(&mut io::stdin().lock(), &mut io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("deadheat-lowering: {error} (this program is started by deadheat)");
            ExitCode::FAILURE
        }
    }
}

fn serve(input: &mut impl Read, output: &mut impl Write) -> io::Result<()> {
    let settings: Settings = match receive(input)? {
        Some(settings) => settings,
        None => return Ok(()),
    };
    while let Some(request) = receive::<Request>(input)? {
        let reply = match module::lower(&request, &settings) {
            Ok(module) => Reply::Module(encode(&module)?),
            Err(reason) => Reply::Refused(reason),
        };
        let bytes = encode(&reply)?;
        output.write_all(&(bytes.len() as u64).to_le_bytes())?;
        output.write_all(&bytes)?;
        output.flush()?;
    }
    Ok(())
}

fn encode<T: serde::Serialize>(value: &T) -> io::Result<Vec<u8>> {
    postcard::to_stdvec(value).map_err(io::Error::other)
}

/// The next frame's value; none at the end of the input.
fn receive<T: serde::de::DeserializeOwned>(input: &mut impl Read) -> io::Result<Option<T>> {
    let mut length = [0; 8];
    match input.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    let mut bytes = Vec::new();
    input.take(u64::from_le_bytes(length)).read_to_end(&mut bytes)?;
    postcard::from_bytes(&bytes).map(Some).map_err(io::Error::other)
}
