//! deadheat-schedule
