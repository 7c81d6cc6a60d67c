import { TOOLS } from '../operations/registry.ts';

/** Tool name of an operation: `checkout.create` becomes `checkout_create`, because clients reject dots. */
export function toolName(operation: string): string {
  return operation.replaceAll('.', '_');
}

/** Names of all tools. */
export const TOOL_NAMES: ReadonlySet<unknown> = new Set(TOOLS.map(({ name }) => toolName(name)));
