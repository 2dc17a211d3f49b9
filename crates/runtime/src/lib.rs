//! deadheat-runtime
