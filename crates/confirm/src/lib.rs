//! deadheat-confirm
