//! deadheat-detect
