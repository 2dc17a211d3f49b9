//! deadheat-pass
