//! Read-only questions about the lake and its views.
