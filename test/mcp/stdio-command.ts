import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

/** Command with which an MCP host starts `tillway mcp`. Error output is discarded. */
export function stdioCommand(url: string) {
  return { command: process.execPath, args: [PROGRAM, 'mcp', '--url', url], stderr: 'ignore' as const };
}
