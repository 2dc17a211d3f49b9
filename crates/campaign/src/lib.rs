//! deadheat-campaign
