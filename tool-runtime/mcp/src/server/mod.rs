//! The server: a dispatcher behind MCP.
