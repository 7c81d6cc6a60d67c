import type { Command } from 'commander';
import { type CommandContext, apiKeyOf, describedCommand } from './command-context.ts';

/** `tillway mcp`: the tools of a running service for a host that starts MCP servers as programs. */
export function mcpCommand(context: CommandContext): Command {
  const command = describedCommand('mcp', {
    summary: 'Serve the tools of a service to an agent, over the standard input and output',
    details:
      'For a host that starts MCP servers as programs. A host that takes a URL gets the address of the service with /mcp instead; --url accepts that too. Runs until the input is closed and every request is answered.',
    examples: ['tillway mcp', 'tillway mcp --url https://pay.example'],
    data: false,
  });
  return command.action(async () => {
    // Hosts that take a URL get the one with /mcp; the requests of this command go to the service itself.
    const url = context.urlOf(command).replace(/\/mcp$/, '');
    // Loaded here, because the protocol takes a while to load.
    const { serveMcp } = await import('./mcp-stdio.ts');
    const { complain, randomBytes } = context.terminal;
    const service = { url, apiKey: apiKeyOf(context.terminal) };
    await serveMcp(service, { complain: (problem) => complain(`tillway mcp: ${problem}\n`), randomBytes });
  });
}
