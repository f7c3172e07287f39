//! The printer: IR in, SQL text out. Makes no choices.
