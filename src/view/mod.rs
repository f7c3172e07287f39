//! The registry of views, kept in the lake itself.
