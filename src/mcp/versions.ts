/** Supported MCP protocol versions of 2025 and earlier, newest first. Excludes 2025-03-26, which requires batches. */
export const LEGACY_VERSIONS = ['2025-11-25', '2025-06-18', '2024-11-05', '2024-10-07'];
/** All supported MCP protocol versions, newest first. */
export const PROTOCOL_VERSIONS = ['2026-07-28', ...LEGACY_VERSIONS];
