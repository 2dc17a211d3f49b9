//! deadheat-report
