//! The client: MCP servers as providers of tools.
